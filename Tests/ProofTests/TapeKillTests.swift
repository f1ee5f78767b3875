import Foundation
import MediaStore
import TestSupport
import Testing

/// `kill -9` at every step of an album, then resuming: the tape has one album, with each original once, and the
/// originals are unchanged (tapes contract 10, acceptance 7).
@Suite struct TapeKillTests {
    /// The points of `TapeFailpoint` that a first `add` reaches.
    static let pointsOfAdd = [
        "clipsCommitted", "lockTaken", "intentKept", "folderMade", "manifestWritten", "albumCreated", "linkKept",
        "assetsResolved", "linkMade", "linksMade", "manifestRewritten", "assetsAdded", "clipsRecorded",
        "playlistWritten",
    ]

    /// The command that resumes.
    enum Continuation: String, CaseIterable {
        case nextAdd
        case reconcile
    }

    @Test(arguments: pointsOfAdd) func killedAddEndsInOneAlbum(point: String) async throws {
        let bench = try TapeBench()
        for continuation in Continuation.allCases {
            let title = continuation.rawValue
            let names = ["\(title)-a.jpg", "\(title)-b.jpg"]
            let paths = try names.map(bench.photo)
            let before = try bench.witness()
            try await bench.succeed("create", title)
            try await bench.die(["add", title] + paths, at: point)
            #expect(
                try bench.store().tapes(named: title).first?.hasReceivedFirstContent == true,
                "the tape comes first"
            )
            switch continuation {
            case .nextAdd:
                let more = try bench.photo("\(title)-c.jpg")
                try await bench.succeed("add", title, more)
                try bench.expectComplete(title, names + ["\(title)-c.jpg"], "\(point), \(title)")
            case .reconcile:
                try await bench.succeed("reconcile", "--apply")
                try bench.expectComplete(title, names, "\(point), \(title)")
            }
            #expect(try bench.witness().filter { before[$0.key] != nil } == before)
        }
        // Nothing else is left in the pictures directory except a folder that was just created: an existing folder is
        // never used, not even an empty one.
        let left = try FileManager.default.contentsOfDirectory(atPath: bench.rootPath).filter { name in
            let content = try? FileManager.default.contentsOfDirectory(atPath: bench.rootPath + "/" + name)
            return point != "folderMade" || content?.isEmpty != true
        }
        #expect(left.count == 3 && left.contains(".mediactl-library.json"), "\(point): \(left)")
    }

    @Test(arguments: ["tapeDeleted", "albumDeleted"]) func killedDeletionIsFinishedByReconcile(point: String)
        async throws
    {
        let bench = try TapeBench()
        let flag = ["MEDIACTL_FEATURE_DELETE_ALBUM": "1"]
        let path = try bench.photo("a.jpg")
        let before = try bench.witness()
        try await bench.succeed("create", "gone")
        try await bench.succeed("add", "gone", path)
        try await bench.die(["delete", "gone", "--yes"], at: point, extra: flag)
        #expect(try bench.store().tapeSummaries().isEmpty)
        #expect(try bench.albums().count == (point == "albumDeleted" ? 0 : 1))
        #expect(try await bench.run(["reconcile", "--apply"], extra: flag).exitCode == 0)
        #expect(try bench.albums().isEmpty)
        #expect(try bench.store().albumTombstones().isEmpty)
        #expect(try bench.witness() == before)
    }
}
