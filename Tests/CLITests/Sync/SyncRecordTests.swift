import Foundation
import MediaCore
import MediaStore
import MediaTransport
import Testing

@testable import MediaCLI
@testable import PhotoSync

/// Records and texts of `sync` and `claim-legacy`, made from values.
@Suite struct SyncRecordTests {
    static func photo(_ name: String = "IMG_0001.jpg", device: PhotoDevice? = nil) -> PhotoRecord {
        PhotoRecord(
            id: "0f1e2d3c-0000-4000-8000-000000000001",
            sha256: String(repeating: "ab", count: 32),
            originalFilename: name,
            fileSize: 67_117,
            takenAt: PhotoTime(text: "2024-01-31T23:59:59Z", microseconds: 1_706_745_599_000_000),
            uploadedAt: PhotoTime(text: "2024-03-01T00:30:00.5Z", microseconds: 1_709_253_000_500_000),
            originDevice: device,
            width: device == nil ? nil : 4032,
            height: device == nil ? nil : 3024
        )
    }

    static let phone = PhotoDevice(id: "d-1", name: "Ann's\u{1b}[2J phone", platform: "ios")
    static let status = SyncStatus(
        totalPhotos: 5,
        devicePhotos: 1,
        legacyPhotos: 2,
        otherDevicePhotos: 2,
        lastSyncAt: photo().uploadedAt
    )

    private static let failure = PhotoSyncError(.checksumMismatch, httpStatus: 200).with(\.photoID, "p-1")

    private static let listing = PullProgress(photos: 250, pages: 1, expected: 1000, attempt: 1)
    private static let endless = PullProgress(photos: 250, pages: 1, expected: nil, attempt: 2)

    private static let rendered: [(schema: String, type: String, members: JSONObject)] =
        PushItem.State.allCases.map { state in
            let error = state == .failed ? PhotoSyncError(.fileUnreadable) : nil
            return ("sync-push", "item", PushItem(path: [0x61], state: state, error: error).json)
        }
        + DownloadItem.State.allCases.map { state in
            let error = state == .failed ? failure : nil
            let path: [UInt8]? = state == .failed ? nil : [0x61]
            return (
                "sync-download", "item",
                DownloadItem(id: "p-1", state: state, path: path, error: error).json
            )
        }
        + DeletionAcceptance.Item.State.allCases.map { state in
            let error = state == .failed ? PhotoSyncError(.photoNotDeleted) : nil
            let item = DeletionAcceptance.Item(target: [0x61], state: state, error: error)
            return ("sync-forget", "item", item.json)
        }
        + SyncDifference.Kind.allCases.map {
            ("sync-verify", "item", SyncDifference(kind: $0, photoID: "p-1").json)
        }
        + [
            ("sync-list", "item", JSONRenderer.photo(photo(), device: nil, isGone: true)),
            ("sync-list", "item", JSONRenderer.photo(photo(device: phone), device: "d-1", isGone: false)),
            ("claim-legacy", "item", JSONRenderer.photo(photo(), device: "d-2", isGone: false)),
            ("sync-pull", "progress", listing.record(elapsed: .seconds(1))),
            ("sync-verify", "progress", endless.record(elapsed: .seconds(1))),
            ("sync-push", "progress", PushProgress().record(elapsed: .zero)),
            ("sync-download", "progress", DownloadProgress().record(elapsed: .zero)),
            (
                "sync-pull", "error",
                JSONRenderer.fatal(ErrorCatalog.userFacingError(of: PhotoSyncError(.listingIncomplete)))
            ),
        ]

    @Test(arguments: rendered.indices)
    func recordsHaveTheDocumentedShape(index: Int) throws {
        let (name, type, members) = Self.rendered[index]
        let head: JSONObject = ["schema": .string("mediactl.\(name)/1"), "type": .string(type)]
        try JSONSchemaTests.expectExactShape((head + members).json(isForTerminals: true), schema: name)
    }

    @Test(
        arguments: [
            (nil, "d-1", "legacy", "no device"), (phone, "d-1", "this", "this device"),
            (phone, "d-2", "other", phone.name),
            (phone, nil, "other", phone.name),
        ] as [(PhotoDevice?, String?, String, String)]
    )
    func originIsRelativeToThisMachine(device: PhotoDevice?, own: String?, name: String, words: String) {
        let origin = PhotoOrigin(Self.photo(device: device), device: own)
        #expect(origin.name == name && origin.words == words)
    }

    // The columns do not depend on their content, so that a list of any length can be printed block by block.
    @Test func tableHasFixedColumnsAndNoControlCharacters() throws {
        let test = try TestConsole()
        let table = PhotoTable(test.console(), device: "d-2")
        table.show([Self.photo("a\u{1b}]0;x\u{7}.jpg", device: Self.phone)])
        table.show([Self.photo("b.jpg")])
        let lines = test.output.split(separator: "\n")
        #expect(lines.count == 3 && table.count == 2)
        #expect(
            lines[0] == "ID                                    TAKEN (UTC)              SIZE  DEVICE            NAME"
        )
        #expect(lines[1].hasSuffix("2024-01-31 23:59:59   67.1 kB  Ann's\\u{1b}[2J …  a\\u{1b}]0;x\\u{7}.jpg"))
        #expect(lines[2].hasSuffix("2024-01-31 23:59:59   67.1 kB  no device         b.jpg"))
        #expect(!test.output.contains("\u{1b}"))
    }

    // Other columns are dropped in favor of the name.
    @Test(
        arguments: [
            (120, "ID TAKEN (UTC) SIZE DEVICE NAME"), (100, "ID TAKEN (UTC) SIZE DEVICE NAME"),
            (80, "ID TAKEN (UTC) DEVICE NAME"), (70, "ID TAKEN (UTC) NAME"), (60, "ID NAME"),
            (51, "TAKEN (UTC) SIZE NAME"), (40, "TAKEN (UTC) SIZE NAME"), (30, "TAKEN (UTC) NAME"), (20, "NAME"),
        ]
    )
    func tableFitsTheTerminal(columns: Int, titles: String) throws {
        let test = try TestConsole()
        let console = test.console(environment: ["NO_COLOR": "1"], isTerminal: true, columns: columns)
        PhotoTable(console, device: nil).show([Self.photo(String(repeating: "n", count: 300))])
        let lines = test.output.split(separator: "\n")
        for line in lines { #expect(line.count <= columns) }
        #expect(lines[0].split(separator: " ").joined(separator: " ").hasPrefix(titles))
        #expect(columns < 60 || lines[1].hasSuffix("nnnnnnnnnnn…"))
    }

    @Test func unreadableMembersAreOnlyInJSON() {
        let style = Style(.never, isTerminal: false, environment: [:])
        let digest = String(repeating: "ab", count: 32)
        func line(_ kind: SyncDifference.Kind, path: [UInt8]?, _ expected: String?, _ found: String?) -> [String] {
            let difference = SyncDifference(kind: kind, photoID: "p-1", path: path, expected: expected, found: found)
            return difference.text(style)
        }
        #expect(line(.copyChanged, path: [0x61], digest, digest) == ["copy changed       a  (ID p-1)"])
        #expect(
            line(.copyChanged, path: [0x61], digest, "a directory")
                == ["copy changed       a  (ID p-1, found a directory)"]
        )
        var changed = SyncDifference(kind: .copyChanged, photoID: "p-1", path: [0x61], expected: digest, found: digest)
        changed.uploadedAs = "p-2"
        #expect(changed.text(style) == ["copy changed       a  (ID p-1, uploaded as photo p-2)"])
        #expect(line(.notOnServer, path: nil, "beach.jpg", nil) == ["not on server      p-1  (beach.jpg)"])
        #expect(line(.notIndexed, path: nil, nil, "beach.jpg") == ["not indexed        p-1  (beach.jpg)"])
    }

    @Test(
        arguments: [
            ([0, 0, 0], [0, 0, 0], ["index updated: no changes", "  0 photos"]),
            ([1, 0, 0], [1, 0, 0], ["index updated: 1 new", "  1 photo: 1 from this device"]),
            (
                [3, 2, 4], [2, 1, 3],
                [
                    "index updated: 2 new, 1 changed, 3 deleted",
                    "  9 photos: 3 from this device, 2 from other devices, 4 not assigned to a device",
                ]
            ),
        ] as [([Int64], [Int64], [String])]
    )
    func zeroCountsAreOmitted(owners: [Int64], news: [Int64], lines: [String]) {
        var counts = PhotoCounts()
        (counts.thisDevice, counts.otherDevices, counts.legacy) = (owners[0], owners[1], owners[2])
        var changes = SyncChanges()
        (changes.added, changes.changed, changes.gone) = (news[0], news[1], news[2])
        let result = PullResult(
            isFull: true,
            isResumed: false,
            photos: 9,
            pages: 1,
            restarts: 0,
            changes: changes,
            counts: counts,
            status: nil
        )
        let style = Style(.never, isTerminal: false, environment: [:])
        #expect(TextRenderer.pull(result, isDryRun: false, style: style) == lines)
    }

    /// After Ctrl-C, a line for each of thousands of files would hide the result.
    @Test func filesThatWereNotStartedHaveNoLine() {
        let style = Style(.never, isTerminal: false, environment: [:])
        var pushed = PushItem(path: [0x61], state: .cancelled)
        #expect(pushed.text(style).isEmpty)
        pushed.attempts = 1
        #expect(pushed.text(style) == ["a: canceled"])
        #expect(DownloadItem(id: "p-1", state: .cancelled).text(style).isEmpty)
    }

    // Files that are not photos are not failures; photos that are not saved are.
    @Test(
        arguments: [
            (.uploaded, nil, 0), (.present, nil, 0), (.duplicate, nil, 0), (.skipped, .notRegularFile, 0),
            (.planned, nil, 0), (.unconfirmed, nil, 6), (.foreign, nil, 10),
            (.skipped, nil, 0), (.skipped, .unknownExtension, 0), (.failed, .fileTooLarge, 2),
            (.changed, .changedSinceUpload, 13), (.deleted, nil, 0), (.forgotten, nil, 0), (.excluded, nil, 0),
            (.skipped, .emptyFile, 0), (.failed, .sourceChanged, 13), (.failed, .serverError, 7),
            (.cancelled, nil, 130),
        ] as [(PushItem.State, OutcomeCode?, Int32)]
    )
    func pushItemsHaveExitCodes(state: PushItem.State, code: OutcomeCode?, exitCode: Int32) {
        let item = PushItem(path: [0x61], state: state, error: code.map { PhotoSyncError($0) })
        #expect(item.exitCode.rawValue == exitCode)
    }

    /// The upload succeeded; what failed is the listing that verifies it.
    @Test(
        arguments: [
            (.unauthorized, ": the server refused the API key", 4), (.cancelled, "", 130),
        ] as [(OutcomeCode, String, Int32)]
    )
    func anUploadThatWasNotVerifiedIsReportedAsUploaded(code: OutcomeCode, reason: String, exitCode: Int32) {
        let item = PushItem(path: [0x61], state: .unconfirmed, error: PhotoSyncError(code))
        let message = "\"a\" was uploaded, but not verified in the server's listing\(reason)"
        #expect(item.userFacingError?.message == message)
        #expect(item.userFacingError?.hint == "push it again, and keep the local original until then")
        #expect(item.exitCode.rawValue == exitCode)
    }

    @Test(
        arguments: [
            (.verified, nil, 0), (.rewritten, nil, 0), (.present, nil, 0), (.planned, nil, 0),
            (.failed, .checksumMismatch, 8), (.failed, .lengthMismatch, 8), (.failed, .unknownPhoto, 5),
            (.failed, .forbidden, 4), (.failed, .diskFull, 12), (.cancelled, nil, 130), (.failed, .wrongPhoto, 8),
            (.cancelled, .diskFull, 12),
            (.unverified, .unverifiedPhoto, 8), (.undeliverable, .undeliverable, 5), (.thumbnail, nil, 0),
            (.unavailable, nil, 0), (.unavailable, .thumbnailUnavailable, 5),
        ] as [(DownloadItem.State, OutcomeCode?, Int32)]
    )
    func downloadItemsHaveExitCodes(state: DownloadItem.State, code: OutcomeCode?, exitCode: Int32) {
        let item = DownloadItem(id: "p-1", state: state, error: code.map { PhotoSyncError($0) })
        #expect(item.exitCode.rawValue == exitCode)
    }

    @Test(
        arguments: [
            (3, 0, 0, 0, 0), (0, 3, 0, 0, 0), (2, 0, 1, 1, 3), (0, 2, 1, 1, 3), (0, 0, 2, 2, 5), (0, 0, 2, 1, 7),
            (2, 0, 1, 0, 3),
        ] as [(Int64, Int64, Int64, Int, Int32)]
    )
    func claimsAreVerifiedByCounting(claimed: Int64, already: Int64, failed: Int64, unknown: Int, exitCode: Int32) {
        let result = ClaimResult(
            claimed: claimed,
            alreadyClaimed: already,
            failed: failed,
            remaining: 0,
            after: Self.status
        )
        var plan = ClaimPlan(selection: .ids([]), ids: [], count: claimed, before: Self.status)
        plan.unknown = (0..<unknown).map { "u-\($0)" }
        #expect(result.exitCode(of: plan).rawValue == exitCode)
    }

    @Test func resultsAreEscaped() {
        let path = Array("a\u{1b}[31m.jpg".utf8)
        let style = Style(.never, isTerminal: true, environment: [:])
        let lines =
            PushItem.State.allCases.flatMap { PushItem(path: path, state: $0).text(style) }
            + DownloadItem.State.allCases.flatMap {
                DownloadItem(id: "p", state: $0, path: path).text(style)
            }
            + SyncDifference.Kind.allCases.flatMap {
                SyncDifference(kind: $0, photoID: "p", path: path, expected: "\u{7}", found: "\u{9b}").text(style)
            }
        #expect(lines.count > 10)
        for line in lines {
            #expect(line.contains("a\\u{1b}[31m.jpg"))
            #expect(!line.unicodeScalars.contains { $0.properties.generalCategory == .control })
        }
    }
}
