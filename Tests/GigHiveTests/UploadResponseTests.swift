import MediaStore
import TestSupport
import Testing

@testable import GigHive

@Suite struct UploadResponseTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var status: Int
        var form = ResponseText.Form.json
        var fileID: Int64?
        var token: String?
        var checksumPrefix: String?
        var existing: Int64?
        var message: String?
        var testDescription: String { name }
    }

    /// Expected values taken from the recordings.
    @Test(arguments: [
        Case(
            name: "d1-upload-v1",
            status: 201,
            fileID: 1,
            token: "7ab6b40f9047c1575ddda4757039b032d423b6b49316f90c9e2afb9002502185",
            checksumPrefix: "d5dcd696"
        ),
        Case(name: "d1-dup", status: 201, fileID: 1, checksumPrefix: "d5dcd696"),
        Case(
            name: "d2-upload-v1",
            status: 201,
            fileID: 1,
            token: "efa9d74d1bf3e700785b655275461bcbcf8435164d86e1854583a6c62bf3d62f",
            checksumPrefix: "d5dcd696"
        ),
        Case(
            name: "d2-dup",
            status: 409,
            checksumPrefix: "d5dcd696",
            existing: 1,
            message:
                "A file with the same checksum_sha256 already exists on the server. Upload rejected to prevent duplicates."
        ),
        Case(
            name: "d3-upload-v1",
            status: 201,
            fileID: 1,
            token: "8848bd150bd10f8b6f8483b1c7588e5e57f1b097ea130102b73046b04286c2c8",
            checksumPrefix: "d5dcd696"
        ),
        Case(
            name: "d3-dup-v1",
            status: 409,
            checksumPrefix: "d5dcd696",
            existing: 1,
            message:
                "A file with the same checksum_sha256 already exists on the server. Upload rejected to prevent duplicates."
        ),
        Case(name: "d3-dup-otherevent", status: 201, fileID: 1, checksumPrefix: "d5dcd696"),
        Case(
            name: "d3-html",
            status: 201,
            form: .html,
            fileID: 2,
            token: "3481f1f3894b24ebe829f6edf71f511ea3b646889a5e5918a2062d08cfe222aa",
            checksumPrefix: "a48d48b8"
        ),
        Case(name: "d3-badtype", status: 400, message: "Unsupported media type"),
        Case(name: "d3-nolabel", status: 400, message: "Label is required"),
        Case(
            name: "d3-longlabel",
            status: 500,
            message: "SQLSTATE[22001]: String data, right truncated: 1406 Data too long for column 'label' at row 1"
        ),
        Case(name: "d3-viewer", status: 401, form: .broken, message: "Unauthorized"),
        Case(name: "d3-wrongpw", status: 401, form: .broken, message: "Unauthorized"),
        Case(name: "d3-notmultipart", status: 415, form: .broken, message: "415 Unsupported Media Type"),
        Case(
            name: "d3-wrongfield",
            status: 413,
            message:
                "Upload exceeded server limits (post_max_size / upload_max_filesize or web server request size)."
        ),
    ]) func recordedResponse(_ expected: Case) throws {
        let transcript = try GigHiveTranscript(expected.name)
        #expect(transcript.status == expected.status)
        let response = UploadResponse.parse(status: transcript.status, body: transcript.body)
        #expect(response.form == expected.form)
        #expect(response.fileID == expected.fileID)
        #expect(response.deleteToken?.secret == expected.token)
        #expect(response.checksumSHA256.map { String($0.prefix(8)) } == expected.checksumPrefix)
        #expect(response.existingFileID == expected.existing)
        #expect(response.message == expected.message)
    }

    static let token = String(repeating: "0123456789abcdef", count: 4)

    /// The ID and the token contained in a text; 0 and "" where there must be none.
    @Test(
        arguments: [
            (#"{"id":"18","delete_token":"TOKEN"}"#, 18, token),
            (#"{"asset_id":18,"delete_token":" TOKEN\n"}"#, 18, token),
            (#"{"id":18.0,"delete_token":"TOKEN","extra":[{"deep":null}]}"#, 18, token),
            (#"{"id":-1,"delete_token":null}"#, 0, ""),
            (#"{"id":true,"delete_token":["TOKEN"]}"#, 0, ""),
            (#"{"id":1e99,"delete_token":{}}"#, 0, ""),
            (#"[{"id":18}]"#, 18, ""),
            (#"<b>Warning</b>: x{"id":18,"delete_token":"TOKEN"} trailing"#, 18, token),
            (#"{"id":18,"delete_token":12345678901234567}"#, 18, "12345678901234567"),
            (#"{"id":18,"delete_token": 123456789012345678901234567890 }"#, 18, "123456789012345678901234567890"),
            (#"{"id":7.5,"delete_token":"TOKEN"}"#, 0, token),
            (#"{"id":100000000000000000000000,"delete_token":"TOKEN"}"#, 0, token),
            // Truncated responses.
            (#"{"id":18,"delete_token":"TOKEN"#, 18, token),
            (#"{"id":18,"delete_token":"TOKEN","no"#, 18, token),
            (#"{"id":18,"delete_token":"0123456789abcdef"#, 18, ""),
            (#"{"id":1"#, 0, ""),
            (#"{"id":18,"event_id":6,"delete_tok"#, 18, ""),
            (#"{"id":18,"delete_token":"TOKENff"#, 18, ""),
            ("<pre>{ &quot;id&quot;: 18, &quot;delete_token&quot;: &quot;TOKEN&quot;", 18, token),
            (
                "<pre>{&quot;id&quot;:18,&#34;delete_token&#x22;:&quot;TOKEN&quot;,&quot;label&quot;:&quot;a&amp;b", 18,
                token
            ),
            ("", 0, ""),
            ("{", 0, ""),
            ("<pre", 0, ""),
            ("&#xffffffff;&#x110000;&#;", 0, ""),
        ] as [(String, Int64, String)]
    )
    func salvagedValues(_ text: String, _ id: Int64, _ token: String) {
        let text = text.replacing("TOKEN", with: Self.token)
        let response = UploadResponse.parse(status: 201, body: Array(text.utf8))
        #expect(response.fileID == (id == 0 ? nil : id))
        #expect(response.deleteToken?.secret == (token.isEmpty ? nil : token))
    }

    @Test(arguments: [
        (#""a\u0000b""#, true), (#""a\u001bb""#, true), (#""a\u0085b""#, true), (#""a b""#, true),
        ("\"" + String(repeating: "a", count: 513) + "\"", true), (#"["a"]"#, true), ("{}", true), ("true", true),
        ("\"" + String(repeating: "a", count: 512) + "\"", false), ("null", false), (#""""#, false), (#"" ""#, false),
        ("false", false), ("5", false),
    ]) func impossibleTokensAreDetected(_ value: String, _ isUnusable: Bool) {
        let response = UploadResponse.parse(status: 201, body: Array(#"{"id":7,"delete_token":\#(value)}"#.utf8))
        #expect(response.hasUnusableToken == isUnusable)
        #expect(response.deleteToken == nil || !isUnusable)
    }

    @Test func megabytesOfBlanksAndAByteOrderMarkAreSkipped() {
        let blanks = [UInt8](repeating: 0x20, count: 3 << 20) + [0xef, 0xbb, 0xbf, 0x0a]
        let response = UploadResponse.parse(status: 201, body: blanks + Array(#"{"id":7}"#.utf8))
        #expect(response.form == .json)
        #expect(response.fileID == 7)
    }

    @Test func everyTruncatedResponseYieldsTheWholeTokenOrNone() throws {
        for name in ["d3-upload-v1", "d3-html"] {
            let body = try GigHiveTranscript(name).body
            let whole = UploadResponse.parse(status: 201, body: body)
            for count in 0...body.count {
                let response = UploadResponse.parse(status: 201, body: Array(body[..<count]))
                #expect(response.deleteToken == nil || response.deleteToken == whole.deleteToken)
                #expect(response.fileID == nil || response.fileID == whole.fileID)
            }
        }
    }

    @Test func aTokenOfUnusualFormIsKept() {
        let response = UploadResponse.parse(status: 201, body: Array(#"{"id":7,"delete_token":"ABC-1"}"#.utf8))
        #expect(response.deleteToken?.secret == "ABC-1")
        #expect(response.deleteToken?.isWellFormed == false)
    }

    @Test func aDescriptionNeverShowsTheToken() {
        let response = UploadResponse.parse(status: 201, body: Array(#"{"id":7,"delete_token":"secret-7"}"#.utf8))
        #expect(!"\(response)".contains("secret-7"))
    }

    @Test(arguments: ["d2-list", "d3-list"]) func recordedListing(_ name: String) throws {
        let page = try #require(ListingPage.parse(try GigHiveTranscript(name).body))
        #expect(page.page == 1)
        #expect(page.pageCount == 1)
        #expect(page.entries.count == (name == "d2-list" ? 2 : 11))
        #expect(page.entries.allSatisfy { $0.fileID != nil && $0.fileType != nil })
    }

    @Test func listingsAreReadLeniently() throws {
        let text = #"{"entries":[{"id":"4","url":"\/audio\/ab.mp3"},{"file_name":"cd"},17,{"id":{}}]}"#
        let page = try #require(ListingPage.parse(Array(text.utf8)))
        #expect(page.entries.map(\.fileID) == [4, nil])
        #expect(page.entries[0].holds(checksumSHA256: "ab"))
        #expect(page.entries[1].holds(checksumSHA256: "cd"))
        #expect(!page.entries[0].holds(checksumSHA256: "a"))
        #expect(ListingPage.parse(Array(#"{"entries":"none"}"#.utf8)) == nil)
    }

    @Test(
        arguments: [
            ("d1-del-ok", 1, nil), ("d2-del-ok", 1, nil), ("d3-del-good", 1, nil),
            ("d1-del-wrong", nil, "Invalid delete token"), ("d2-del-wrong", nil, "Invalid delete token"),
            ("d3-del-twice", nil, "Invalid delete token"), ("d3-del-wrongtoken", nil, "Invalid delete token"),
        ] as [(String, Int64?, String?)]
    )
    func recordedDeletion(_ name: String, _ count: Int64?, _ message: String?) throws {
        let response = DeleteResponse.parse(try GigHiveTranscript(name).body)
        #expect(response.deletedCount == count)
        #expect(response.message == message)
        #expect(response.rejectsToken == (message != nil))
    }
}
