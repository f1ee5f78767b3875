import Foundation
import MediaStore
import TestSupport
import Testing

@testable import GigHive

/// Responses that contain a token in a form other than the contract's.
@Suite struct ResponseFormTests {
    struct Form: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        /// Whether the ID is certain as well; otherwise the server is queried for it.
        var hasID = true
        var testDescription: String { name }

        init(_ name: String, _ text: String, hasID: Bool = true) {
            self.init(name, Array(text.replacing("TOKEN", with: UploadResponseTests.token).utf8), hasID: hasID)
        }

        init(_ name: String, _ bytes: [UInt8], hasID: Bool = true) {
            self.name = name
            self.bytes = bytes
            self.hasID = hasID
        }

        init(_ name: String, base64: String) { self.init(name, EncodedResponses.bytes(base64)) }
    }

    static let json = #"{"id":18,"delete_token":"TOKEN"}"#
    private static let plain = json.replacing("TOKEN", with: UploadResponseTests.token)

    private static func wide(_ text: String, _ unit: Int, bigEndian: Bool, mark: Bool) -> [UInt8] {
        ((mark ? "\u{feff}" : "") + text).unicodeScalars.flatMap { scalar in
            let bytes = (0..<unit).map { UInt8(truncatingIfNeeded: scalar.value >> UInt32(8 * $0)) }
            return bigEndian ? bytes.reversed() : bytes
        }
    }

    private static let messagePack: [UInt8] = {
        var bytes: [UInt8] = [0x82, 0xa2]
        bytes += Array("id".utf8)
        bytes += [18, 0xac]
        bytes += Array("delete_token".utf8)
        bytes += [0xd9, 64]
        return bytes + Array(UploadResponseTests.token.utf8)
    }()

    /// Resembles an encoding that is not supported, such as Brotli.
    private static let noise: [UInt8] = (0..<160).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ 11) }

    static let forms: [Form] = jsonForms + textForms + encodedForms

    private static let jsonForms: [Form] = [
        Form("the contract's", json),
        Form("byte order mark", "\u{feff}" + json),
        Form("in data", #"{"data":\#(json)}"#),
        Form("in data and result", #"{"status":"ok","data":{"result":{"file":\#(json)}}}"#),
        Form("in a list", "[\(json)]"),
        Form("in lists of lists", "[[[\(json)]]]"),
        Form("in a list of results", #"{"results":[{"ok":true},\#(json)]}"#),
        Form("the same value twice", #"{"file":\#(json),"copy":\#(json)}"#),
        Form("deleteToken", #"{"id":18,"deleteToken":"TOKEN"}"#),
        Form("delete-token", #"{"id":18,"delete-token":"TOKEN"}"#),
        Form("DeleteToken", #"{"Id":18,"DeleteToken":"TOKEN"}"#),
        Form("capitals", Array(#"{"ID":18,"DELETE_TOKEN":"\#(UploadResponseTests.token)"}"#.utf8)),
        Form("delete token", #"{"id":18,"delete token":"TOKEN"}"#),
        Form("camel case in data", #"{"data":{"assetId":18,"deleteToken":"TOKEN"}}"#),
        Form("ID beside, named for files", #"{"asset_id":18,"tokens":{"delete_token":"TOKEN"}}"#),
        Form("ID beside, not named for files", #"{"id":18,"tokens":{"delete_token":"TOKEN"}}"#, hasID: false),
        Form("event and file", #"{"event":{"id":6},"file":\#(json)}"#),
        Form("JSON:API", #"{"data":{"id":"18","attributes":{"delete_token":"TOKEN"}}}"#, hasID: false),
        Form("ID as text", #"{"data":{"id":"18","delete_token":"TOKEN"}}"#),
        Form("JSON in a string", #"{"body":"{\"id\":18,\"delete_token\":\"TOKEN\"}"}"#),
        Form("a string of JSON", #""{\"id\":18,\"delete_token\":\"TOKEN\"}""#),
        Form("Base64 in a string", #"{"payload":"\#(Data(plain.utf8).base64EncodedString())"}"#),
        Form("NDJSON", #"{"progress":50}"# + "\n" + json + "\n"),
        Form("NDJSON with an event", #"{"event":{"id":6}}"# + "\n" + json),
        Form("JSONP", "callback(\(json));"),
        Form("a guard before JSON", ")]}',\n" + json),
        Form("PHP warning before", "\nWarning: Undefined {x} in /a.php on line 3\n" + json),
        Form("PHP warning after", json + "\n<br />\n<b>Notice</b>: array [0] and {} in x"),
        Form("log lines before", "[23-Nov-2026 05:00:00 UTC] PHP Notice: it's\n" + json),
        Form("truncated in data", #"{"data":{"id":18,"delete_token":"TOKEN"},"mes"#),
        Form("truncated after the token", #"{"data":{"id":18,"event_id":6,"delete_token":"TOKEN","#),
        Form("list of names and values", #"[{"name":"delete_token","value":"TOKEN"}]"#, hasID: false),
    ]

    private static let textForms: [Form] = [
        Form("JSON with single quotes", "{'id': 18, 'delete_token': 'TOKEN'}"),
        Form("JSON without quotes", "{id: 18, delete_token: \"TOKEN\"}"),
        Form("XML", "<?xml version=\"1.0\"?>\n<upload><id>18</id><delete_token>TOKEN</delete_token></upload>"),
        Form("XML with attributes", #"<upload id="18" delete_token="TOKEN"/>"#),
        Form("XML with CDATA", "<r><asset_id>18</asset_id><delete_token><![CDATA[TOKEN]]></delete_token></r>"),
        Form(
            "property list",
            "<dict><key>id</key><integer>18</integer><key>delete_token</key><string>TOKEN</string></dict>"
        ),
        Form("HTML without pre", "<html><style>b{}</style><body>\(json.replacing("\"", with: "&quot;"))</body></html>"),
        Form("HTML with pre", "<!DOCTYPE html><pre>\(json.replacing("\"", with: "&quot;"))</pre>"),
        Form(
            "HTML table",
            "<table><tr><td>id</td><td>18</td></tr><tr><td>delete_token</td><td>TOKEN</td></tr></table>"
        ),
        Form(
            "highlighted JSON",
            "<code>{<b class=\"k\">\"id\"</b>: 18, <b>\"delete_token\"</b>: <i>\"TOKEN\"</i>}</code>"
        ),
        Form("HTML input", #"<input name="asset_id" value="18"><input name="delete_token" value="TOKEN">"#),
        Form("escaped JSON", json.replacing("\"", with: "&#34;")),
        Form("form", "id=18&delete_token=TOKEN"),
        Form("form, the ID last", "delete_token=TOKEN&asset_id=18"),
        Form("form with escapes", "data%5Bid%5D=18&data%5Bdelete_token%5D=TOKEN"),
        Form("JSON with percent escapes", json.replacing("\"", with: "%22").replacing("{", with: "%7B")),
        Form("YAML", "id: 18\ndelete_token: TOKEN\n"),
        Form("INI", "[upload]\nasset_id = 18\ndelete_token = TOKEN\n"),
        Form("header lines", "Asset-ID: 18\r\nDelete-Token: TOKEN\r\n"),
        Form("print_r", "Array\n(\n    [id] => 18\n    [delete_token] => TOKEN\n)\n"),
        Form("var_dump", "array(2) {\n  [\"id\"]=>\n  int(18)\n  [\"delete_token\"]=>\n  string(64) \"TOKEN\"\n}\n"),
        Form("serialize", "a:2:{s:2:\"id\";i:18;s:12:\"delete_token\";s:64:\"TOKEN\";}"),
        Form("a sentence", "Stored as ID 18. The delete token is: TOKEN.\n"),
        Form("MessagePack", messagePack, hasID: false),
    ]

    private static let encodedForms: [Form] = [
        Form("gzip", base64: EncodedResponses.gzip), Form("gzip with a name", base64: EncodedResponses.gzipNamed),
        Form("gzip, stored", base64: EncodedResponses.gzipStored),
        Form("gzip, dynamic", base64: EncodedResponses.gzipDynamic),
        Form("gzip twice", base64: EncodedResponses.gzipTwice),
        Form("gzip in two members", base64: EncodedResponses.gzipMembers),
        Form("gzip of UTF-16", base64: EncodedResponses.gzipUTF16),
        Form("gzip of HTML", base64: EncodedResponses.gzipHTML),
        Form("gzip without its trailing zeros", base64: EncodedResponses.gzipNoTrailerZeros),
        Form("zlib", base64: EncodedResponses.zlib), Form("zlib, fixed", base64: EncodedResponses.zlibFixed),
        Form("deflate", base64: EncodedResponses.deflate),
        Form("UTF-16 LE, mark", wide(plain, 2, bigEndian: false, mark: true)),
        Form("UTF-16 BE, mark", wide(plain, 2, bigEndian: true, mark: true)),
        Form("UTF-16 LE", wide(plain, 2, bigEndian: false, mark: false)),
        Form("UTF-16 BE", wide(plain, 2, bigEndian: true, mark: false)),
        Form("UTF-16 LE without its trailing zero", Array(wide(plain, 2, bigEndian: false, mark: true).dropLast())),
        Form("UTF-32 LE, mark", wide(plain, 4, bigEndian: false, mark: true)),
        Form("UTF-32 BE, mark", wide(plain, 4, bigEndian: true, mark: true)),
        Form("UTF-32 LE", wide(plain, 4, bigEndian: false, mark: false)),
        Form("UTF-32 BE", wide(plain, 4, bigEndian: true, mark: false)),
        Form(
            "UTF-16 XML",
            wide(
                "<r><id>18</id><delete_token>\(UploadResponseTests.token)</delete_token></r>",
                2,
                bigEndian: true,
                mark: true
            )
        ),
        Form("Base64", Data(plain.utf8).base64EncodedString()),
        Form("Base64 with line breaks", Data(plain.utf8).base64EncodedString(options: .lineLength64Characters)),
        Form("URL-safe Base64", Data(plain.utf8).base64EncodedString().filter { $0 != "=" }),
        Form("Base64 in quotes", "\"\(Data(plain.utf8).base64EncodedString())\""),
        Form("data URL", "data:application/json;base64,\(Data(plain.utf8).base64EncodedString())"),
        Form("Base64 of gzip", EncodedResponses.gzip),
    ]

    @Test(arguments: forms) func tokenAndIDAreFound(_ form: Form) {
        let response = UploadResponse.parse(status: 201, body: form.bytes, isComplete: true)
        #expect(response.deleteToken?.secret == UploadResponseTests.token)
        #expect(response.fileID == (form.hasID ? 18 : nil))
        #expect(!response.mayHoldUnreadToken(besides: nil))
    }

    /// docs/proof.md states their number.
    @Test func thereAre83FormsBesidesTheContracts() { #expect(Self.forms.count == 1 + 83) }

    @Test(arguments: forms) func theTokenIsStoredAndTheFileIsVerified(_ form: Form) async throws {
        let bench = try Workbench { request, connection, server, _ in
            server.store(request.fileContent)
            try connection.respond(201, bytes: form.bytes)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.fileID == 18)
        #expect(try bench.store.tokens(host: bench.host, fileID: 18).map(\.token.secret) == [UploadResponseTests.token])
        #expect(bench.rescueFiles.isEmpty)
        #expect(bench.server.uploads.count == 1)
    }

    /// Files of an interrupted run are read the same way; they do not show whether the response was complete.
    @Test(arguments: forms) func theTokenOfAnInterruptedRunIsStored(_ form: Form) async throws {
        let bench = try Workbench(try FakeGigHive())
        let upload = try bench.prepare()
        var record = bench.uploader.record(of: upload)
        record.checksumSHA256 = abcChecksum
        try bench.store.insert(record)
        try bench.store.update(record.uploadID, UploadChange(state: .sent))
        bench.server.store("abc")
        do {
            let file = try RescueLog(in: bench.directory).reserve(for: record.uploadID)
            try file.begin(status: 201)
            try form.bytes.withUnsafeBytes { try file.append($0) }
        }
        let resolved = await bench.uploader.resolve(record)
        #expect(resolved.state == .done)
        #expect(try bench.store.tokens(host: nil).map(\.token.secret) == [UploadResponseTests.token])
        #expect(try bench.store.tokens(host: nil).map(\.fileID) == [18])
        #expect(bench.rescueFiles.isEmpty)
    }

    // MARK: Statuses

    /// A status of 300 or more contradicts the token: the server is queried for the file. The token is stored anyway.
    @Test(
        arguments: [
            200, 202, 203, 206, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 406, 408, 410, 413, 415,
            418,
            422, 423, 425, 429, 451, 500, 501, 502, 503, 504, 505, 507, 520, 599,
        ],
        [true, false]
    )
    func aTokenWithAnyStatusIsStored(_ status: Int, _ isOnServer: Bool) async throws {
        let bench = try Workbench { request, connection, server, _ in
            if isOnServer { server.store(request.fileContent) }
            // Without a challenge, a 401 with JSON requires a login, and the server cannot be queried with a password.
            let challenge = status == 401 ? [#"WWW-Authenticate: Basic realm="GigHive""#] : []
            try connection.respond(status, Self.plain, headers: ["Location: /elsewhere"] + challenge)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(try bench.store.tokens(host: nil).map(\.token.secret) == [UploadResponseTests.token])
        #expect(result.state == (isOnServer || status < 300 ? .done : .failed))
        #expect(result.fileID == (isOnServer || status < 300 ? 18 : nil))
        #expect(bench.rescueFiles.isEmpty)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func aTokenWithoutItsIDGetsTheIDThatTheServerReports() async throws {
        let bench = try bench(500, #"{"delete_token":"TOKEN"}"#)
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(try bench.store.tokens(host: nil).map(\.fileID) == [18])
    }

    @Test func aTokenForAnotherFileThanTheServerReportsStaysInItsFile() async throws {
        let bench = try bench(500, #"{"id":19,"delete_token":"TOKEN"}"#)
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .tokenLost)
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(bench.rescueFiles.count == 1)
        #expect(result.warnings == [.tokenKept(rescuePath: bench.directory.path + "/" + bench.rescueFiles[0])])
    }

    private func bench(_ status: Int, _ text: String, isStored: Bool = true) throws -> Workbench {
        let body = Form("", text).bytes
        return try Workbench.overriding { request, connection, server, _ in
            guard request.path == "/api/uploads.php" else { return false }
            if isStored { server.store(request.fileContent) }
            try connection.respond(status, bytes: body)
            return true
        }
    }

    // MARK: Kept entries

    @Test(arguments: [
        #"[{"id":18,"delete_token":"TOKEN"},{"id":19,"delete_token":"TOKEN0"}]"#,
        "delete_token=TOKEN&delete_token=ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ])
    func twoTokensAreAmbiguous(_ text: String) {
        let response = UploadResponse.parse(status: 201, body: Form("", text).bytes, isComplete: true)
        #expect(response.deleteToken == nil)
        #expect(response.hasUnusableToken)
    }

    @Test(arguments: [
        #"{"id":18,"delete_token":null,"checksum_sha256":"TOKEN"}"#,
        #"{"id":18,"delete_token":"","checksum_sha256":"TOKEN"}"#,
        "<id>18</id><delete_token/><checksum_sha256>TOKEN</checksum_sha256>", "delete_token=&checksum_sha256=TOKEN",
        "delete_token: null\nchecksum_sha256: TOKEN", #"{"id":18,"file_name":"TOKEN.mp4","url":"\/video\/TOKEN.mp4"}"#,
        "No delete token. SHA-256 TOKEN", "1062 Duplicate entry 'TOKEN' for key 'uq_asset_checksum'",
    ])
    func aChecksumIsNotAToken(_ text: String) {
        let response = UploadResponse.parse(status: 201, body: Form("", text).bytes, isComplete: true)
        #expect(response.deleteToken == nil)
        #expect(!response.mayHoldUnreadToken(besides: nil))
    }

    @Test(
        arguments: [
            Form("a bare token", "TOKEN"), Form("another name", #"{"id":18,"removal_key":"TOKEN"}"#),
            Form("CSV", "id,delete_token\n18,TOKEN\n"),
            Form("bytes without meaning", noise),
            Form("gzip with a wrong checksum", base64: EncodedResponses.gzipCorrupt),
        ],
        [201, 500]
    )
    func aResponseThatCannotBeParsedIsKeptUntilItIsDiscarded(_ form: Form, _ status: Int) async throws {
        let bench = try Workbench { request, connection, server, _ in
            server.store(request.fileContent)
            try connection.respond(status, bytes: form.bytes)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(bench.rescueFiles.count == 1)
        let path = bench.directory.path + "/" + (bench.rescueFiles.first ?? "")
        #expect(result.warnings.contains(.responseKept(path: path)))
        for _ in 1...2 {
            let later = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
            #expect(later == [.responseKept(path: path)])
        }
        let kept = KeptResponses(store: bench.store, directory: bench.directory)
        let response = try #require(try kept.list().first)
        #expect(response.host == bench.host && response.status == status && !response.hasToken)
        #expect(try kept.discard("r-00000000") == nil)
        #expect(try kept.discard(response.id) == response)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test(arguments: ["<html><title>502 Bad Gateway</title></html>", "", "{}", #"{"error":"Server Error"}"#, "ok"])
    func aParsedResponseWithoutATokenIsNotKept(_ text: String) async throws {
        let bench = try bench(502, text)
        #expect(await bench.uploader.upload(try bench.prepare()).state == .tokenLost)
        #expect(bench.rescueFiles.isEmpty)
    }

    // MARK: Bounds

    @Test func decompressionIsLimited() throws {
        let bomb = EncodedResponses.bytes(EncodedResponses.gzipBomb)
        let inflation = try #require(Inflation.decoding(bomb[...]))
        #expect(inflation.end == .invalid)
        #expect(inflation.bytes.count <= max(64 << 10, bomb.count * Inflation.highestRatio))
    }

    @Test func aTruncatedStreamYieldsTheDecodedPart() throws {
        let bytes = EncodedResponses.bytes(EncodedResponses.gzipCut)
        let inflation = try #require(Inflation.decoding(bytes[...]))
        #expect(inflation.end == .cutOff)
        #expect(inflation.bytes.starts(with: Array(#"{"id": 18, "label": "0 1 4 9 "#.utf8)))
        for count in 0..<bytes.count { _ = Inflation.decoding(bytes[..<count]) }
    }

    @Test func everyChangedByteIsDetectedOrYieldsTheToken() {
        let bytes = EncodedResponses.bytes(EncodedResponses.gzip)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x10
            let response = UploadResponse.parse(status: 201, body: changed)
            #expect(
                response.deleteToken == nil || response.deleteToken?.secret == UploadResponseTests.token,
                "\(index)"
            )
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["{", "[", "{\"a\":", "&quot;", "<", "%", "delete_token"])
    func repeatedEncodingsAreLimited(_ text: String) {
        let count = (1 << 20) / text.utf8.count
        let response = UploadResponse.parse(status: 201, body: Array(String(repeating: text, count: count).utf8))
        #expect(response.deleteToken == nil)
    }
}
