import Foundation
import TestSupport
import Testing

/// The recorded responses of the real servers are the reference: status, headers, keys, order, types.
@Suite struct TranscriptTests {
    /// Each recording, and the requests that bring a new sandbox into the state it was recorded in.
    struct Case: CustomTestStringConvertible, Sendable {
        var name: String
        var preparation: [Preparation]
        var arguments: [String]
        var request: [String]
        /// The recordings with guests are in the third dialect.
        var dialect: String { name.hasPrefix("guest") ? "d3" : String(name.prefix(2)) }
        var testDescription: String { name }

        init(_ name: String, after preparation: [Preparation] = [], arguments: [String] = [], _ request: [String]) {
            (self.name, self.preparation, self.arguments, self.request) = (name, preparation, arguments, request)
        }
    }

    enum Preparation: Sendable {
        /// Uploads the clip to an event.
        case upload(date: String, label: String)
        /// Uploads a different file.
        case uploadOther
        /// Deletes the clip with its token.
        case delete
        /// Sends unique bytes over tus; the ID is written as ID from then on.
        case tus(metadata: [String: String], isWhole: Bool)
        /// Sends the clip over tus.
        case tusClip
        case finalize
        /// Finalizes as a guest; the nonce is NONCE from then on.
        case guestFinalize
    }

    private static let clip = "file=@CLIP;type=video/mp4"
    private static let stored = Preparation.upload(date: "2026-02-15", label: "one")

    static let cases: [Case] = ["d1", "d2"].flatMap(fileCases) + assetCases + tusCases + guestCases

    private static let metadata = [
        "filename": "v1.mp4", "label": "tus one", "event_date": "2026-03-01", "org_name": "TusBand",
    ]
    private static let sent = Preparation.tus(metadata: metadata, isWhole: true)

    private static let tusCases: [Case] =
        ["d1", "d2"].map {
            Case("\($0)-fin1", after: [sent], finalizeRequest())
        } + [
            Case(
                "d3-fin1",
                after: [sent],
                finalizeRequest(
                    #","event_date":"2026-03-01","org_name":"TusBand","event_type":"band","label":"tus one""#
                )
            ),
            Case("d3-fin2", after: [sent, .finalize], finalizeRequest()),
            Case(
                "d3-race1",
                after: [sent],
                arguments: ["--hook-delay", "0.5", "--hook-wait", "60"],
                finalizeRequest()
            ),
            Case(
                "d3-fin-unfinished",
                after: [.tus(metadata: metadata, isWhole: false)],
                arguments: ["--hook-wait", "0.1"],
                finalizeRequest()
            ),
        ]

    private static let link = "guesttoken-aabbccddeeff0011"
    private static let linkArguments = ["--event-link-token", "\(link)=2026-03-01,TusBand,band"]

    private static let guestCases: [Case] = [
        Case(
            "guest-fin",
            // Known bytes: the recording has no token.
            after: [stored, .tusClip],
            arguments: linkArguments,
            ["-H", "X-Upload-Token: \(link)"]
                + finalizeRequest(
                    #","label":"my clip","tos_accepted":true,"display_name":"Zoe","org_name":"ignored""#
                )
        ),
        Case(
            "guest-status",
            after: [sent, .guestFinalize],
            arguments: linkArguments,
            ["/api/guest-status.php?nonce=NONCE"]
        ),
        Case("guest-token", arguments: linkArguments, ["/api/upload-token.php?token=\(link)"]),
    ]

    private static func finalizeRequest(_ fields: String = "") -> [String] {
        ["-H", "Content-Type: application/json", "-d", #"{"upload_id":"ID"\#(fields)}"#, "/api/uploads/finalize"]
    }

    private static func fileCases(_ dialect: String) -> [Case] {
        [
            Case(
                "\(dialect)-upload-v1",
                uploadRequest(["event_date=2026-02-15", "org_name=StormPigs", "label=timeaverage"])
            ),
            Case(
                "\(dialect)-dup",
                after: [stored],
                uploadRequest(["event_date=2026-02-15", "org_name=StormPigs", "label=again"])
            ),
            Case(
                "\(dialect)-del-ok",
                after: [stored],
                deleteRequest(#"{"asset_id":1,"file_id":1,"asset_ids":[1],"file_ids":[1],"delete_token":"TOKEN"}"#)
            ),
            Case(
                "\(dialect)-del-wrong",
                after: [stored],
                deleteRequest(#"{"asset_id":1,"file_id":1,"delete_token":"bad"}"#)
            ),
        ]
    }

    private static let assetCases: [Case] =
        [
            Case("d3-upload-v1", ["-F", "file=@CLIP", "-F", "label=one", "-F", "keywords=k1", "/api/uploads.php"]),
            Case(
                "d3-dup-v1",
                after: [stored],
                uploadRequest(["event_date=2026-02-15", "org_name=StormPigs", "label=two"])
            ),
            Case(
                "d3-dup-otherevent",
                after: [stored],
                uploadRequest(["event_date=2026-02-16", "org_name=StormPigs", "label=two"])
            ),
            Case("d3-nolabel", ["-F", clip, "/api/uploads"]),
            Case("d3-badtype", ["-F", "file=@CLIP;filename=t.txt", "-F", "label=x", "/api/uploads.php"]),
            Case("d3-wrongfield", ["-F", "media=@CLIP", "-F", "label=x", "/api/uploads.php"]),
            Case(
                "d3-notmultipart",
                ["-H", "Content-Type: application/json", "-d", #"{"label":"x"}"#, "/api/uploads.php"]
            ),
            Case("d3-longlabel", uploadRequest(["org_name=Zed", "label=" + String(repeating: "L", count: 300)])),
            Case(
                "d3-html",
                ["-H", "Accept: application/json,text/html;q=0.9"] + uploadRequest(["label=defs"], "?ui=json")
            ),
            Case("d3-viewer", ["-u", "viewer:viewer", "-F", clip, "-F", "label=x", "/api/uploads"]),
            Case("d3-wrongpw", ["-u", "uploader:wrong", "-F", clip, "-F", "label=x", "/api/uploads.php"]),
            Case("d3-del-good", after: [stored], deleteRequest(#"{"file_id":1,"asset_id":1,"delete_token":"TOKEN"}"#)),
            Case(
                "d3-del-twice",
                after: [stored, .delete],
                deleteRequest(#"{"file_id":1,"asset_id":1,"delete_token":"TOKEN"}"#)
            ),
            Case("d3-del-wrongtoken", after: [stored], deleteRequest(#"{"asset_id":1,"delete_token":"deadbeef"}"#)),
            Case("d3-get-deleted", after: [stored, .delete], ["/api/uploads/1"]),
            Case("d3-list", after: [.uploadOther, stored], ["-u", "viewer:viewer", "/db/database.php?format=json"]),
        ] + [
            Case("d2-list", after: [stored, .uploadOther], ["/db/database.php?format=json"])
        ]

    private static func uploadRequest(_ fields: [String], _ query: String = "") -> [String] {
        ["-F", clip] + fields.flatMap { ["-F", $0] } + ["/api/uploads.php" + query]
    }

    private static func deleteRequest(_ json: String) -> [String] {
        ["-H", "Content-Type: application/json", "-d", json, "/db/delete_media_files.php"]
    }

    @Test(arguments: cases)
    func respondsLikeTheRecording(_ testCase: Case) async throws {
        let recording = try GigHiveTranscript(testCase.name)
        let fixture = try await Fixture(dialect: testCase.dialect, arguments: testCase.arguments)
        let clip = try fixture.file("v1.mp4", content: Self.clipContent)
        var names = try await prepare(fixture, clip, testCase.preparation)
        names["CLIP"] = clip
        var arguments = testCase.request.map { argument in
            names.reduce(argument) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
        }
        if !arguments.contains("-u") { arguments = ["-u", "uploader:uploader"] + arguments }
        let path = arguments.removeLast()
        let response = try await curl(arguments + [fixture.sandbox.baseURL + path])

        #expect(response.status == recording.status)
        #expect(response.headers.filter(Self.isComparable) == recording.headers.filter(Self.isComparable))
        if recording.text.hasPrefix("{") {
            #expect(try JSONShape(response.text) == JSONShape(recording.text))
        } else {
            #expect(Self.title(response.text) == Self.title(recording.text))
        }
    }

    private static let clipContent = "the clip"

    /// The recording is from a different tus server behind the same proxy, so the sandbox gets that server's extensions
    /// and size limit.
    @Test func supportsTusLikeTheRecording() async throws {
        let recording = try GigHiveTranscript("d3-tus-options")
        let extensions = try #require(recording.headers["tus-extension"])
        let size = try #require(recording.headers["tus-max-size"])
        let fixture = try await Fixture(arguments: ["--tus-extensions", extensions, "--tus-max-size", size])
        let response = try await curl(["-u", "uploader:uploader", "-X", "OPTIONS", fixture.sandbox.baseURL + "/files/"])
        // tusd prefers 200.
        #expect((response.status, recording.status) == (200, 204))
        func isShared(_ header: (key: String, value: String)) -> Bool {
            Self.isComparable(header) && header.key != "server"
        }
        #expect(response.headers.filter(isShared) == recording.headers.filter(isShared))
        #expect(response.body.isEmpty)
    }

    private func prepare(
        _ fixture: Fixture,
        _ clip: String,
        _ steps: [Preparation]
    ) async throws -> [String: String] {
        var token = ""
        var id = ""
        var nonce = ""
        for step in steps {
            switch step {
            case .upload(let date, let label):
                let response = try await fixture.upload(
                    clip,
                    fields: ["event_date=\(date)", "org_name=StormPigs", "label=\(label)"]
                )
                token = try #require(try response.string("delete_token"))
            case .uploadOther:
                let response = try await fixture.upload(try fixture.file(content: "another"), fields: ["label=other"])
                #expect(response.status == 201)
            case .delete:
                let response = try await fixture.delete(#"{"asset_id":1,"delete_token":"\#(token)"}"#)
                #expect(try response.int("deleted_count") == 1)
            case .tus(let metadata, let isWhole):
                id = try await fixture.createUpload(length: 5, metadata)
                if isWhole { _ = try await fixture.patch(id, at: 0, "bytes") }
            case .tusClip:
                id = try await fixture.completeUpload(Self.clipContent, Self.metadata)
            case .finalize:
                #expect(try await fixture.finalize(id).status == 201)
            case .guestFinalize:
                let response = try await fixture.finalize(
                    id,
                    #""label":"my clip","tos_accepted":true"#,
                    options: ["-H", "X-Upload-Token: \(Self.link)"]
                )
                nonce = try #require(try response.string("status_nonce"))
            }
        }
        return ["TOKEN": token, "ID": id, "NONCE": nonce]
    }

    /// Ignored: values that depend on the time, on TLS and HTTP/2 upgrades, and on Apache's file serving.
    private static func isComparable(_ header: (key: String, value: String)) -> Bool {
        ![
            "date", "upgrade", "connection", "last-modified", "etag", "accept-ranges", "content-length",
        ].contains(header.key)
    }

    /// The title of a page; for any other text the whole text.
    static func title(_ page: String) -> String {
        page.firstMatch(of: /<title>(.*)<\/title>/).map { String($0.1) }
            ?? page.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
