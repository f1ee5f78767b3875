import Foundation
import MediaStore
import TestSupport
import Testing

/// The built program and a photo server: after any interruption, the tape has its clips and one album, and the
/// server has each original once (tapes contract 10, acceptance 1 to 7).
@Suite struct TapeServerTests {
    /// The failpoints of `TapeFailpoint` that a first `add` passes with any library.
    static let pointsOfAdd = [
        "clipsCommitted", "lockTaken", "intentKept", "albumCreated", "linkKept", "assetsResolved", "assetsAdded",
        "clipsRecorded",
    ]

    @Test(arguments: [2, 3]) func killedAddEndsInOneAlbum(major: Int) async throws {
        var bench = try TapeBench()
        let server = try await bench.useServer(major: major)
        let before = try await bench.fill()
        for point in Self.pointsOfAdd {
            try await bench.succeed("create", point)
            try await bench.die(["add", point, bench.originals + "/a.jpg", bench.originals + "/b.jpg"], at: point)
            try await bench.succeed("reconcile", "--apply")
            let tape = try #require(try bench.store().tapes(named: point).first)
            let albums = try await server.report().albums.filter { $0.description == "mediactl tape \(tape.id)" }
            #expect(albums.count == 1 && albums.first?.name == "Tapes – \(point)", "\(point)")
            #expect(albums.first.map { Set($0.assets).count } == 2 && albums.first?.assets.count == 2, "\(point)")
            #expect(tape.association == .associated, "\(point)")
            #expect(try bench.store().clips(of: tape.id).allSatisfy { $0.association == .linked }, "\(point)")
        }
        let report = try await server.report()
        #expect(report.violations == [])
        #expect(report.albums.count == Self.pointsOfAdd.count && report.assets.count == 2, "each original once")
        #expect(try bench.witness() == before)
    }

    /// The failure, and the reason that is stored.
    enum Failure: String, CaseIterable {
        case down, revoked, mayNotCreate, mayNotAdd, full

        var reason: AssociationReason {
            switch self {
            case .down: .unreachable
            case .revoked: .accessDenied
            case .mayNotCreate, .mayNotAdd: .accessLimited
            case .full: .quota
            }
        }
    }

    @Test(arguments: Failure.allCases) func failuresAreStoredAndRetried(_ failure: Failure) async throws {
        var bench = try TapeBench()
        let server = try await bench.useServer(quota: failure == .full ? 1 : nil)
        let before = try await bench.fill()
        switch failure {
        case .down: try await server.add(faults: ["path": ".*", "drop": true, "times": 1000])
        case .revoked: try await server.revoke("key-1")
        case .mayNotCreate:
            try await server.add(key: "narrow", permissions: ["asset.upload", "albumAsset.create", "user.read"])
        case .mayNotAdd:
            try await server.add(key: "narrow", permissions: ["asset.upload", "album.create", "user.read"])
        case .full: break
        }
        let isNarrow = [.mayNotCreate, .mayNotAdd].contains(failure)
        if isNarrow { bench.runner.environment["MEDIACTL_API_KEY"] = "narrow" }
        try await bench.succeed("create", "summer")
        let add = ["add", "summer", bench.originals + "/a.jpg", bench.originals + "/b.jpg"]
        let saved = try await bench.run(add)
        #expect(saved.exitCode == 0, "\(saved.output)\(saved.errors)")
        let warnings = saved.errors.split(separator: "\n").filter { $0.contains("warning:") }
        #expect(warnings.count == 1 && warnings.first?.contains("2 clips saved") == true, "\(saved.errors)")
        let tape = try #require(try bench.store().tapes(named: "summer").first)
        let clips = try bench.store().clips(of: tape.id)
        #expect(clips.count == 2 && clips.allSatisfy { $0.association == .pending && $0.reason == failure.reason })
        if failure != .full { #expect(tape.association == .pending && tape.reason == failure.reason, "\(tape)") }
        // With --strict-albums, this is a partial failure.
        let strict = try await bench.run(add + ["--strict-albums"])
        #expect(strict.exitCode == 3, "\(strict.output)\(strict.errors)")

        // Repaired: the next command completes the album.
        var mended = server
        switch failure {
        case .down: try await server.clearFaults()
        case .revoked: try await server.add(key: "key-1")
        case .mayNotCreate, .mayNotAdd: bench.runner.environment["MEDIACTL_API_KEY"] = "key-1"
        case .full: mended = try await bench.useServer()
        }
        _ = try Data([0xFF, 0xD8, 0xFF, 0xE0, 9]).write(to: URL(fileURLWithPath: bench.originals + "/c.jpg"))
        try await bench.succeed("add", "summer", bench.originals + "/c.jpg")
        let report = try await mended.report()
        #expect(
            report.albums.filter { $0.assets.count == 3 }.count == 1 && report.assets.count == 3,
            "\(report.albums)"
        )
        #expect(report.violations == [])
        #expect(try bench.store().tape(tape.id)?.association == .associated)
        #expect(try bench.store().clips(of: tape.id).allSatisfy { $0.association == .linked })
        #expect(try bench.witness().filter { before[$0.key] != nil } == before)
    }

    @Test func deletingATapeContactsNoServerWithoutTheFlag() async throws {
        var bench = try TapeBench()
        let server = try await bench.useServer()
        _ = try await bench.fill()
        try await bench.succeed("create", "summer")
        try await bench.succeed("add", "summer", bench.originals + "/a.jpg")
        try await server.clearRequests()
        try await bench.succeed("rename", "summer", "autumn")
        try await bench.succeed("list")
        try await bench.succeed("show", "autumn")
        try await bench.succeed("remove", "autumn", "#1", "--yes")
        try await bench.succeed("delete", "autumn", "--yes")
        let report = try await server.report()
        #expect(report.requests.map(\.line) == [])
        #expect(report.albums.map(\.name) == ["Tapes – summer"] && report.albums.first?.assets.count == 1)
    }

    @Test func deletingATapeWithTheFlagKeepsTheAssets() async throws {
        var bench = try TapeBench()
        let server = try await bench.useServer()
        let flag = ["MEDIACTL_FEATURE_DELETE_ALBUM": "1"]
        let before = try await bench.fill()
        try await bench.succeed("create", "summer")
        try await bench.succeed("add", "summer", bench.originals + "/a.jpg", bench.originals + "/b.jpg")
        try await server.add(faults: ["method": "DELETE", "path": "/albums/.*", "status": 503, "times": 10])
        let deleted = try await bench.run(["delete", "summer", "--yes"], extra: flag)
        #expect(deleted.exitCode == 0 && deleted.errors.contains("warning:"), "\(deleted.output)\(deleted.errors)")
        #expect(try bench.store().tapeSummaries().isEmpty)
        #expect(try bench.store().albumTombstones().count == 1)
        try await server.clearFaults()
        // If the flag is not set, pending deletions are not carried out (rule R11).
        try await bench.succeed("reconcile", "--apply")
        #expect(try await server.report().albums.count == 1)
        #expect(try await bench.run(["reconcile", "--apply"], extra: flag).exitCode == 0)
        let report = try await server.report()
        #expect(report.albums.isEmpty && report.assets.count == 2 && report.violations == [])
        #expect(try bench.store().albumTombstones().isEmpty)
        #expect(try bench.witness() == before)
    }

    /// The key is treated like every other secret.
    @Test func theKeyIsInNoOutput() async throws {
        var bench = try TapeBench()
        _ = try await bench.useServer()
        _ = try await bench.fill()
        try await bench.succeed("create", "summer")
        let added = try await bench.runner.run(["tapes", "add", "summer", bench.originals + "/a.jpg", "-vvv", "--json"])
        #expect(added.exitCode == 0 && !(added.output + added.errors).contains("key-1"))
    }
}

extension TapeBench {
    /// Switches to a separate server, and creates a key for it.
    mutating func useServer(major: Int = 3, quota: Int? = nil) async throws -> ImmichStandIn {
        let server = try await ImmichStandIn.start(major: major, quota: quota)
        runner.environment["MEDIACTL_LIBRARY_URL"] = server.address
        runner.environment["MEDIACTL_API_KEY"] = "key-1"
        runner.environment["MEDIACTL_RETRIES"] = "0"
        return server
    }

    /// Two photos.
    func fill() async throws -> [String: Witness] {
        _ = try photo("a.jpg")
        _ = try photo("b.jpg")
        return try witness()
    }
}
