import Foundation
import TestSupport
import Testing

/// Replays every recorded exchange with the fourth dialect: status, headers, keys, order and types.
@Suite struct D4ReplayTests {
    enum Step: Sendable {
        /// Sends the request of a recording and compares the response.
        case replay(String)
        case create(Int, [String: String] = ["filename": "a.mp4", "filetype": "video/mp4"])
        /// Sends zeros.
        case patch(at: Int, Int, status: Int = 204, asGuest: Bool = false)
        case interrupt(at: Int, length: Int, after: Int, D4Bench.Ending)
        /// Uses the upload created at this position.
        case select(Int)
        case fault(String)
        /// Approves the first guest upload.
        case approve
    }

    struct Scenario: CustomTestStringConvertible, Sendable {
        var name: String
        var arguments: [String]
        var steps: [Step]
        var testDescription: String { name }

        init(_ name: String, arguments: [String] = [], _ steps: [Step]...) {
            self.name = name
            self.arguments = arguments
            self.steps = steps.flatMap { $0 }
        }
    }

    /// Exchanges that are not replayed exactly as recorded, with the reason. For larger bodies, only the length was
    /// recorded: zeros are sent instead.
    static let deviations: [String: String] = [
        "d4-h2-cut": "the sandbox speaks HTTP/1.1 only: interrupted there after the same number of bytes",
        "d4-options-bearer": "the credential was recorded as Basic without a user: sent as Bearer",
        "d4-multipart": "recorded without its form: rebuilt from the response",
        "d4-multipart-dup": "recorded without its form: rebuilt from the response",
        "d4-multipart-otherevent": "recorded without its form: rebuilt from the response",
        "d4-multipart-nolabel": "recorded without its form: rebuilt from the response",
        "d4-mp-before-tus": "recorded without its form: rebuilt from the response",
    ]

    /// The parts of the forms, except `file`.
    private static let forms: [String: [String]] = [
        "d4-multipart": [
            "event_date=2026-10-01", "org_name=D4 Band", "label=first", "participants=Ann, Bob", "keywords=k",
        ],
        "d4-multipart-dup": ["event_date=2026-10-01", "org_name=D4 Band", "label=again"],
        "d4-multipart-otherevent": ["event_date=2026-10-02", "org_name=D4 Band", "label=again"],
        "d4-multipart-nolabel": ["event_date=2026-10-01", "org_name=D4 Band"],
        "d4-mp-before-tus": ["event_date=2026-11-01", "org_name=Dup", "label=m"],
    ]

    private static let mebibyte = D4Bench.mebibyte
    private static let event = [
        "filename": "a.mp4", "filetype": "video/mp4", "event_date": "2026-11-01", "org_name": "Dup", "label": "one",
    ]

    static let scenarios: [Scenario] = [chunked, stored, guests, wholeFiles, interruptions].flatMap { $0 }

    private static let chunked = [
        Scenario(
            "options",
            replays("options", "options-noslash", "options-noauth", "options-viewer", "options-bearer")
        ),
        Scenario(
            "creation",
            replays(
                "tus-create",
                "tus-head-new",
                "tus-post-id",
                "tus-override",
                "tus-delete",
                "tus-create-with-upload"
            ),
            replays("tus-post-noslash", "tus-create-badmime", "tus-create-longlabel", "tus-create-noname"),
            replays("tus-create-toobig", "tus-head-unknown", "patch-unknown")
        ),
        Scenario(
            "three chunks",
            replays("tus-create", "patch-1", "patch-2", "patch-repeat-409", "finalize-pending"),
            [.patch(at: 16 * mebibyte, 4 * mebibyte)],
            replays("head-complete", "patch-after-complete", "finalize", "finalize-repeat")
        ),
        Scenario(
            "invalid requests",
            [.create(10)],
            replays("patch-empty", "patch-nooffset", "patch-wrongoffset", "patch-wrongtype", "finalize-unknown"),
            replays("finalize-32hex", "finalize-badid", "finalize-nobody", "finalize-viewer")
        ),
        Scenario(
            "a chunk that grows",
            [.create(70 * mebibyte)],
            replays("grow-1", "grow-2"),
            [.patch(at: 16 * mebibyte, 16 * mebibyte)],
            replays("grow-head", "grow-4-409"),
            [24, 32, 40, 48, 56].map { .patch(at: $0 * mebibyte, 8 * mebibyte) },
            [.patch(at: 64 * mebibyte, 6 * mebibyte, status: 500)],
            replays("grow-head-failed", "patch-failed-409", "finalize-failed")
        ),
        Scenario(
            "a chunk that shrinks",
            [.create(20 * mebibyte)],
            replays("shrink-1"),
            [.patch(at: 8 * mebibyte, 4 * mebibyte), .patch(at: 12 * mebibyte, 8 * mebibyte, status: 409)],
            replays("shrink-3-head")
        ),
        Scenario(
            "stuck at full length",
            [.create(16 * mebibyte), .patch(at: 0, 8 * mebibyte)],
            replays("stuck-patch2", "stuck-head")
        ),
        Scenario(
            "spliced",
            [.create(40 * mebibyte), .patch(at: 0, 8 * mebibyte), .patch(at: 8 * mebibyte, 12 * mebibyte)],
            [.patch(at: 20 * mebibyte, 8 * mebibyte, status: 409), .patch(at: 16 * mebibyte, 4 * mebibyte)],
            [.patch(at: 24 * mebibyte, 8 * mebibyte)],
            replays("splice-last", "splice-finalize")
        ),
        Scenario("more than announced", [.create(10)], replays("overrun")),
        Scenario(
            "five pending",
            replays("pending-1", "pending-2", "pending-3", "pending-4", "pending-5", "pending-6", "pending-7"),
            replays("pending-admin"),
            [.select(0), .fault("tus-head:expire,times=1")],
            replays("head-expired", "patch-expired"),
            [.fault("tus-head:forget,times=1")],
            replays("head-after-cleanup", "finalize-after-cleanup")
        ),
    ]

    private static let stored = [
        Scenario(
            "refused after the last byte",
            replays("late-eventtype-create"),
            [.patch(at: 0, mebibyte, status: 500)],
            replays("late-eventtype-finalize", "late-longorg-create", "late-longorg", "media-leftover")
        ),
        Scenario(
            "known bytes",
            [.create(mebibyte, event), .patch(at: 0, mebibyte), .create(mebibyte, event), .patch(at: 0, mebibyte)],
            replays("dup-finalize", "delete-uploader-no-token", "delete-admin")
        ),
        Scenario(
            "known bytes under another extension",
            replays("mp-before-tus"),
            [.create(mebibyte, event), .patch(at: 0, mebibyte)],
            replays("tus-after-multipart-finalize", "delete-admin", "finalize-after-delete", "head-after-delete"),
            replays("media-leftover")
        ),
        Scenario(
            "finalize from a form",
            [.create(mebibyte, event), .patch(at: 0, mebibyte)],
            replays("finalize-html", "form-finalize")
        ),
        Scenario(
            "reading",
            [.create(mebibyte, event), .patch(at: 0, mebibyte)],
            replays("video-viewer", "video-None", "media-404", "media-bad", "get-probed", "list", "list-librarian"),
            replays("health", "uploads-get", "login-absent", "verify-absent")
        ),
        Scenario(
            "multipart",
            replays("multipart", "multipart-dup", "multipart-otherevent", "multipart-nolabel")
        ),
    ]

    private static let guests = [
        Scenario(
            "guest",
            replays("guest-options", "guest-options-badtoken", "guest-token", "guest-create", "guest-head"),
            replays("guest-head-without-token", "guest-finalize-noterms", "guest-finalize-pending"),
            replays("guest-finalize-badtoken"),
            [.patch(at: 0, 2 * mebibyte, asGuest: true)],
            replays("guest-finalize", "guest-delete-unapproved"),
            [.approve],
            replays("guest-delete")
        )
    ]

    private static let wholeFiles: [Scenario] = [19, 21, 128, 255].map { size in
        Scenario("one PATCH of \(size) MiB", [.create(size * mebibyte)], replays("one-patch-\(size)MiB"))
    }

    private static let interruptions: [Scenario] = [
        interruption("cut-first-fin", length: 8 * mebibyte, after: 4 * mebibyte, .fin, of: 20),
        interruption("cut-first-rst", length: 8 * mebibyte, after: 4 * mebibyte, .rst, of: 20),
        interruption("cut-first-stall", length: 8 * mebibyte, after: 4 * mebibyte, .stall, of: 20),
        Scenario(
            "cut-second-rst",
            [.create(20 * mebibyte), .patch(at: 0, 8 * mebibyte)],
            [.interrupt(at: 8 * mebibyte, length: 8 * mebibyte, after: 4 * mebibyte, .rst)],
            replays("cut-second-rst")
        ),
        interruption("cut-21of32-fin", length: 32 * mebibyte, after: 21 * mebibyte, .fin),
        interruption("cut-21of32-rst", length: 32 * mebibyte, after: 21 * mebibyte, .rst),
        interruption("cut-22of24-fin", length: 24 * mebibyte, after: 22 * mebibyte, .fin),
        interruption("cut-22of24-rst", length: 24 * mebibyte, after: 22 * mebibyte, .rst),
        interruption("cut-25of32-rst", length: 32 * mebibyte, after: 25 * mebibyte, .rst),
        interruption("cut-40of64-fin", length: 64 * mebibyte, after: 40 * mebibyte, .fin),
        interruption("h2-cut", length: 64 * mebibyte, after: 37_412_864, .rst),
    ]

    /// The first PATCH of an upload of this many MiB is interrupted.
    private static func interruption(
        _ name: String,
        length: Int,
        after count: Int,
        _ ending: D4Bench.Ending,
        of total: Int = 100
    ) -> Scenario {
        Scenario(
            name,
            arguments: ["--body-timeout", "1"],
            [.create(total * mebibyte), .interrupt(at: 0, length: length, after: count, ending)],
            replays(name)
        )
    }

    private static func replays(_ names: String...) -> [Step] { names.map { .replay("d4-" + $0) } }

    @Test func replaysEveryRecording() throws {
        let replayed = Self.scenarios.flatMap(\.steps).compactMap {
            if case .replay(let name) = $0 { name } else { nil }
        }
        #expect(try D4Recording.names() == Set(replayed))
        #expect(Self.deviations.keys.allSatisfy(replayed.contains))
    }

    @Test(arguments: scenarios)
    func respondsLikeTheRecordings(_ scenario: Scenario) async throws {
        let bench = try await D4Bench(arguments: scenario.arguments)
        for step in scenario.steps {
            switch step {
            case .replay(let name): try await compare(name, bench)
            case .create(let length, let metadata): #expect(try await bench.create(length, metadata).status == 201)
            case .patch(let offset, let size, let status, let asGuest):
                let guest = asGuest ? D4Bench.guestToken : nil
                #expect(try await bench.patch(at: offset, size, guest: guest).status == status)
            case .interrupt(let offset, let length, let count, let ending):
                try await bench.interrupt(at: offset, length: length, after: count, ending)
            case .select(let index): bench.select(index)
            case .fault(let fault): try await bench.fixture.sandbox.addFaults(fault)
            case .approve:
                let path = "/__sandbox/guest-jobs/1/approve"
                #expect(try await curl("-X", "POST", bench.fixture.sandbox.baseURL + path).status == 200)
            }
        }
    }

    // MARK: Comparing

    private func compare(_ name: String, _ bench: D4Bench) async throws {
        let recording = try D4Recording(name)
        var form: [String]?
        if let fields = Self.forms[name] {
            let type =
                name == "d4-mp-before-tus" ? "filename=a.mov;type=video/quicktime" : "filename=a.mp4;type=video/mp4"
            form = ["file=@\(try bench.zeros(Self.mebibyte));\(type)"] + fields
        }
        let response = try await bench.send(recording, form: form, bearer: name == "d4-options-bearer")
        let comment = Comment(rawValue: name)
        #expect(response.status == recording.status, comment)
        #expect(Self.comparable(response.headerLines) == Self.comparable(recording.responseHeaders), comment)
        let closes = recording.responseHeaders["connection"]?.contains { $0.hasSuffix("close") } ?? false
        #expect((response.headers["connection"] == "close") == closes, comment)
        switch recording.responseText.first {
        // curl stores the head as the body.
        case _ where recording.method == "HEAD": break
        case "{":
            #expect(try JSONShape(response.text) == JSONShape(recording.responseText), comment)
            if recording.status >= 400 || recording.responseText.contains(#""status":"pending""#) {
                #expect(
                    try Self.masked(Self.sorted(response.text)) == Self.masked(Self.sorted(recording.responseText)),
                    comment
                )
            }
        case _ where recording.status == 206: #expect(response.body.count == Self.rangeSize(recording), comment)
        default:
            #expect(
                TranscriptTests.title(response.text) == TranscriptTests.title(recording.responseText),
                comment
            )
        }
    }

    /// Ignored: values that depend on the time, on TLS and HTTP/2 upgrades, and on Apache's static files.
    private static func comparable(_ headers: [String: [String]]) -> [String: [String]] {
        let ignored = [
            "date", "upgrade", "connection", "last-modified", "etag", "accept-ranges", "content-length",
            "transfer-encoding",
        ]
        var comparable = headers.filter { !ignored.contains($0.key) }.mapValues { $0.map(masked).sorted() }
        // A different number in every database.
        comparable["x-asset-id"] = comparable["x-asset-id"]?.map { Int($0) == nil ? $0 : "NUMBER" }
        return comparable
    }

    /// JSON with the escapes of one serializer; the order of its keys is compared by its shape.
    private static func sorted(_ text: String) throws -> String {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return String(decoding: try JSONSerialization.data(withJSONObject: value, options: .sortedKeys), as: UTF8.self)
    }

    private static func masked(_ text: String) -> String {
        text.replacing(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}/, with: "ID")
            .replacing(/OpenSSL\/[0-9.]+/, with: "OpenSSL").replacing(/"existing_asset_id":[0-9]+/, with: "EXISTING")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Bytes of `Range: bytes=0-N`.
    private static func rangeSize(_ recording: D4Recording) -> Int? {
        recording.headers.first { $0.name == "Range" }?.value.split(separator: "-").last.flatMap { Int($0) }.map {
            $0 + 1
        }
    }
}
