import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Captures in the library")
struct CaptureRecordTests {
    let fixture: StoreFixture
    let store: LibraryStore

    init() throws {
        fixture = try StoreFixture()
        store = try LibraryStore(in: fixture.directory)
    }

    @Test("a capture is read back complete, in every state and mode")
    func roundTrip() throws {
        for state in CaptureRecord.State.allCases {
            for mode in CaptureRecord.Mode.allCases + [nil] {
                var capture = fullCapture()
                capture.state = state
                capture.mode = mode
                try store.keep(capture)
                #expect(try store.capture(capture.id) == capture)
            }
        }
        #expect(try store.captures().count == 1)
        #expect(try store.capture("00000000-0000-4000-8000-00000000ffff") == nil)
    }

    /// Hash-only contract section 8: a record without a mode decodes, with nil for mode, analysis and settings, and is
    /// kept.
    @Test("a record without a mode decodes with nil, and is kept")
    func withoutMode() throws {
        try change(
            """
            INSERT INTO captures (id, server, profile, state, media_hash, media_type, is_observed, has_depth,
                signing_failures, submissions, created_at, updated_at)
            VALUES ('00000000-0000-4000-8000-000000000009', 's', 'reference', 'pending', 'ab', 'photo', 1, 0, 0, 0,
                1, 1)
            """
        )
        let capture = try #require(try store.capture("00000000-0000-4000-8000-000000000009"))
        #expect(capture.mode == nil)
        #expect(capture.analysis == nil)
        #expect(capture.settings == nil)
        #expect(capture.unsignedBody == nil)
        #expect(capture.state == .pending)
        try store.keep(capture)
        #expect(try store.captures() == [capture])
    }

    @Test("captures are listed newest first; changing a capture does not move it")
    func order() throws {
        for (number, seconds) in [(1, 30.0), (2, 10), (3, 20), (4, 30)] {
            try store.keep(capture(number, at: seconds))
        }
        #expect(try store.captures().map(\.id.last) == ["4", "1", "3", "2"])
        var first = capture(1, at: 30)
        first.state = .accepted
        try store.keep(first)
        #expect(try store.captures().map(\.id.last) == ["4", "1", "3", "2"])
        #expect(try store.capture(first.id)?.state == .accepted)
    }

    @Test("captures are found by ID prefix and by their media")
    func found() throws {
        for number in 1...3 { try store.keep(capture(number, at: Double(number), hash: number == 2 ? "b" : "a")) }
        #expect(try store.captures(ofMedia: String(repeating: "a", count: 64)).map(\.id.last) == ["3", "1"])
        #expect(try store.captures(ofMedia: "a").isEmpty)
        #expect(try store.captures(idPrefix: "ABCDEF01-0000-4000-8000-00000000000").count == 3)
        #expect(try store.captures(idPrefix: "abcdef01-0000-4000-8000-000000000002").map(\.id.last) == ["2"])
        // Not a pattern: these characters do not occur in an ID.
        #expect(try store.captures(idPrefix: "%").isEmpty)
        #expect(try store.captures(idPrefix: "_").isEmpty)
    }

    @Test("media is found through an index")
    func index() throws {
        let plan = try store.connection.read { db in
            let sql = "EXPLAIN QUERY PLAN " + Stored<CaptureRecord>.select(where: "media_hash = ?")
            return try Row.fetchAll(db, sql: sql, arguments: ["a"]).map { $0["detail"] as String }
        }
        #expect(plan.contains { $0.contains("captures_by_media") })
    }

    @Test(
        "a record that no version has written is refused with its name",
        arguments: [
            ("state", "'maybe'"), ("mode", "'half'"), ("mode", "''"), ("counter", "-1"), ("counter", "4294967296"),
        ]
    )
    func corrupt(column: String, value: String) throws {
        let capture = fullCapture()
        try store.keep(capture)
        try change("UPDATE captures SET \(column) = \(value)")
        let error = #expect(throws: StoreError.self) { try store.captures() }
        #expect(error?.kind == .corrupt)
        #expect(error?.detail.contains(capture.id) == true)
        #expect(error?.detail.contains(column) == true)
    }

    @Test(
        "an ID that is not a lowercase UUID is not stored, since IDs are used in paths",
        arguments: [
            "", "../../etc/passwd", "ABCDEF01-0000-4000-8000-000000000001", "abcdef01-0000-4000-8000-00000000000",
            "abcdef01-0000-4000-8000-0000000000011", "abcdef01/0000-4000-8000-000000000001",
            "gbcdef01-0000-4000-8000-000000000001", "abcdef010000-4000--8000-000000000001",
        ]
    )
    func badID(id: String) throws {
        var capture = fullCapture()
        capture.id = id
        #expect(throws: StoreError.self) { try store.keep(capture) }
        #expect(try store.captures().isEmpty)
    }

    // MARK: Devices

    @Test(
        "a device is read back with its key source, and replaces the earlier one",
        arguments: [
            .file("a \"b\".pem"), .provider(uri: "handle:0x81000001", provider: "tpm2"),
            .provider(uri: "handle:0x81020000", provider: "tpm2", isOurs: true), .command(["sign", "ü", ""]),
        ] as [CaptureDeviceRecord.KeySource]
    )
    func devices(source: CaptureDeviceRecord.KeySource) throws {
        try store.keep(sampleDevice())
        var device = sampleDevice()
        device.keySource = source
        device.level = "tpm2"
        try store.keep(device)
        #expect(try store.captureDevice(for: device.server) == device)
        #expect(try store.captureDevice(for: "https://other.example") == nil)
    }

    @Test(
        "a key source that no version has written is refused with its name",
        arguments: ["", "{}", "[]", #"{"file":"a","uri":"b"}"#, #"{"uri":"b"}"#, #"{"file":7}"#]
    )
    func corruptKeySource(json: String) throws {
        try store.keep(sampleDevice())
        try change("UPDATE capture_devices SET key_source = '\(json)'")
        let error = #expect(throws: StoreError.self) { try store.captureDevice(for: sampleDevice().server) }
        #expect(error?.kind == .corrupt)
        #expect(error?.detail.contains(sampleDevice().server) == true)
    }

    private func change(_ sql: String) throws {
        try fixture.execute(sql, at: fixture.directory.file("library.sqlite"))
    }

    private func capture(_ number: Int, at seconds: Double, hash: Character = "a") -> CaptureRecord {
        CaptureRecord(
            id: "abcdef01-0000-4000-8000-00000000000\(number)",
            server: "https://capture.example",
            profile: "mediactl-1",
            mode: .hashOnly,
            mediaHash: String(repeating: hash, count: 64),
            mediaType: "photo",
            createdAt: Date(timeIntervalSince1970: 1_780_000_000 + seconds)
        )
    }
}

/// A capture with a value for everything.
func fullCapture() -> CaptureRecord {
    var capture = CaptureRecord(
        id: "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff",
        server: "https://capture.example",
        profile: "mediactl-1",
        mode: .hashOnly,
        mediaHash: String(repeating: "0a", count: 32),
        mediaType: "video",
        createdAt: Date(timeIntervalSince1970: 1_780_000_000.125)
    )
    capture.state = .submitted
    // Not UTF-8.
    capture.path = [0x2f, 0xff, 0x0a]
    capture.mediaBytes = 6_442_450_944
    capture.isObserved = true
    capture.hasDepth = true
    capture.analysis = #"{"depth_layers":3}"#
    capture.settings = #"{"location":"none"}"#
    capture.unsignedBody = Array("{}".utf8)
    capture.body = Array("{\u{0}}".utf8)
    capture.deviceID = "11111111-1111-4111-8111-111111111111"
    capture.publicKey = [4] + [UInt8](repeating: 7, count: 64)
    capture.rpID = "mediactl-1"
    capture.counter = .max
    capture.keyLevel = "software"
    capture.signingFailures = 2
    capture.submissions = 3
    var earlier = CaptureRecord.Submission(body: [0, 0xff])
    earlier.deviceID = "33333333-3333-4333-8333-333333333333"
    earlier.publicKey = [4] + [UInt8](repeating: 9, count: 64)
    earlier.rpID = "rp"
    earlier.counter = 4_294_967_294
    earlier.keyLevel = "tpm2"
    earlier.submittedAt = Date(timeIntervalSince1970: 1_780_000_000.5)
    capture.earlierSubmissions = [earlier, CaptureRecord.Submission(body: [1])]
    capture.updatedAt = Date(timeIntervalSince1970: 1_780_000_001)
    capture.submittedAt = Date(timeIntervalSince1970: 1_780_000_002)
    capture.serverCaptureID = "22222222-2222-4222-8222-222222222222"
    capture.verificationURL = "https://capture.example/v/2"
    capture.httpStatus = 500
    capture.errorCode = "server_error"
    capture.errorDetail = "INTERNAL_ERROR"
    capture.analysisMilliseconds = 4
    return capture
}

func sampleDevice() -> CaptureDeviceRecord {
    CaptureDeviceRecord(
        server: "https://capture.example",
        deviceID: "11111111-1111-4111-8111-111111111111",
        profile: "mediactl-1",
        rpID: "mediactl-1",
        level: "software",
        publicKey: [4] + [UInt8](repeating: 7, count: 64),
        keySource: .file("capture.example.pem"),
        createdAt: Date(timeIntervalSince1970: 1_780_000_000.5)
    )
}
