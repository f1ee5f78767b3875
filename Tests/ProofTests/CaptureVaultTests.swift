import Foundation
import MediaStore
import TestSupport
import Testing

/// A vault that cannot be used, and one that was tampered with.
@Suite struct CaptureVaultTests {
    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)) func readOnlyVaultSendsNothing() async throws {
        let bench = try await CaptureBench.registered()
        let (first, second) = (try bench.photo("a.jpg", seed: 1), try bench.photo("b.jpg", seed: 2))
        let send = { (path: String) in bench.sending(path) + ["--captured-at", "2026-05-01T18:30:00Z"] }
        try #require(try await bench.run(send(first)).exitCode == 0)
        let before = try Tree(bench.vaultPath)
        do {
            let mount = try ReadOnlyMount(bench.vaultPath)
            defer { withExtendedLifetime(mount) {} }
            try await bench.fail(send(second), 12, naming: "captures")
            // Reading still works.
            try await bench.succeed("verify", first, "--offline")
        }
        #expect(try Tree(bench.vaultPath) == before)
        #expect(try await bench.submissions().count == 1 && bench.records().count == 1)
        #expect(try await bench.run(send(second)).exitCode == 0)
        try bench.expectWholeVault()
    }

    // Depending on the number of pages, the disk is full when the media, the record or the counter is written.
    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)) func fullDiskSendsNoPartialCapture() async throws
    {
        let disk = try SmallDisk(kibibytes: 1024)
        var bench = try CaptureBench(try await SandboxProcess.start())
        bench.runner.environment["MEDIACTL_DATA_DIR"] = disk.path + "/data"
        try await bench.succeed("register")
        let photo = try bench.photo("a.jpg", seed: 1)
        let send = bench.sending(photo) + ["--captured-at", "2026-05-01T18:30:00Z"]
        var codes: [Int32?] = []
        for pages in [0, 2, 5, 9] {
            try disk.fill(leavingPages: pages)
            let result = try await bench.run(send)
            codes.append(result.exitCode)
            if result.exitCode != 0 {
                #expect(result.exitCode == 12 && result.errors.contains("space"), "\(pages): \(result.errors)")
                #expect(try await bench.submissions().isEmpty, "\(pages) pages")
            }
            try disk.empty()
        }
        #expect(codes.first == 12, "\(codes)")
        #expect(try await bench.run(send).exitCode == 0)
        try await bench.succeed("retry", "--all")
        #expect(try await bench.sandbox.captures().map(\.mediaHash) == bench.sha256([photo]))
        #expect(try await bench.submissions().count == 1)
        let verified = try await bench.succeed("verify", photo)
        #expect(verified.records.last?["passed"] as? Int == 6, "\(verified.output)")
        let drafts = try FileManager.default.contentsOfDirectory(atPath: disk.path + "/data/captures")
        #expect(drafts.count == 2 && drafts.contains("vault.key"), "\(drafts)")
    }

    @Test func lostKeyIsNotReplaced() async throws {
        let bench = try await CaptureBench.registered()
        let (first, second) = (try bench.photo("a.jpg", seed: 1), try bench.photo("b.jpg", seed: 2))
        try #require(try await bench.run(bench.sending(first)).exitCode == 0)
        let keyFile = bench.vaultPath + "/vault.key"
        let key = try #require(FileManager.default.contents(atPath: keyFile))
        let whole = try bench.kept()
        for damaged in [nil, Data("0123".utf8)] {
            try FileManager.default.removeItem(atPath: keyFile)
            try damaged?.write(to: URL(fileURLWithPath: keyFile))
            try await bench.fail(bench.sending(second), 12, naming: "restore it from a backup")
            try await bench.fail(["verify", first, "--offline"], 12, naming: "the vault cannot be used")
            #expect(FileManager.default.contents(atPath: keyFile) == damaged, "no other key is created")
            #expect(try bench.kept() == whole)
            if damaged == nil { try Data().write(to: URL(fileURLWithPath: keyFile)) }
        }
        try key.write(to: URL(fileURLWithPath: keyFile))
        try #require(chmod(keyFile, 0o600) == 0)
        #expect(try await bench.submissions().count == 1)
        #expect(try await bench.run(bench.sending(second)).exitCode == 0)
        try bench.expectWholeVault()
    }

    @Test func unreadableCounterIsNotReset() async throws {
        let bench = try await CaptureBench.registered()
        let photo = try bench.photo("a.jpg", seed: 1)
        let send = bench.sending(photo) + ["--captured-at", "2026-05-01T18:30:00Z"]
        let counters = bench.dataPath + "/capture-counters"
        try makeDirectory(counters)
        let device = try #require(try await bench.sandbox.captureDevices().first)
        let file = counters + "/" + device.id.lowercased()
        for garbage in ["", "7", "12x\n"] {
            try Data(garbage.utf8).write(to: URL(fileURLWithPath: file))
            try await bench.fail(send, 12, naming: "counter")
            #expect(FileManager.default.contents(atPath: file) == Data(garbage.utf8))
        }
        #expect(try await bench.submissions().isEmpty)
        try Data("7\n".utf8).write(to: URL(fileURLWithPath: file))
        try await bench.succeed("retry", "--all")
        #expect(try await bench.submissions().map(\.counter) == [9])
        #expect(try bench.records().map(\.state) == [.accepted])
        try bench.expectWholeVault()
    }

    // MARK: Tampering

    @Test func changedBlobsAreDetected() async throws {
        let bench = try await CaptureBench.registered()
        let photos = try (0..<2).map { try bench.photo("\($0).jpg", seed: $0) }
        for photo in photos { try #require(try await bench.run(bench.sending(photo)).exitCode == 0) }
        let ids = try bench.records().map(\.id).reversed().map { String($0) }
        let blobs = ids.map { bench.vaultPath + "/\($0)/media" }
        let originals = try blobs.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        let target = bench.runner.home.file("out.jpg")

        func expectFound(_ number: Int, _ what: Comment) async throws {
            let verify = try await bench.run(["verify", photos[number], "--offline"])
            #expect(verify.exitCode == 8, what)
            let failed = verify.items.filter { $0["status"] as? String == "failed" }
            #expect(failed.map { $0["name"] as? String } == ["vault"], what)
            let export = try await bench.run(["export", ids[number], "--output", target])
            #expect(export.exitCode == 8 && export.errors.contains("the media in the vault"), "\(export.errors)")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: bench.runner.home.path).allSatisfy {
                    $0 != "out.jpg" && !$0.hasSuffix("mediactl-part")
                }
            )
        }
        func write(_ data: Data, _ number: Int) throws { try data.write(to: URL(fileURLWithPath: blobs[number])) }

        for place in [5, originals[0].count - 1] {
            var changed = originals[0]
            changed[place] ^= 1
            try write(changed, 0)
            try await expectFound(0, "a bit at \(place)")
        }
        try write(originals[0].dropLast(20), 0)
        try await expectFound(0, "cut off")
        try write(originals[1], 0)
        try write(originals[0], 1)
        for number in 0..<2 { try await expectFound(number, "swapped") }
        let depth = try Data(contentsOf: URL(fileURLWithPath: bench.vaultPath + "/\(ids[0])/depth"))
        try write(depth, 0)
        try await expectFound(0, "its own depth map")
        for number in 0..<2 { try write(originals[number], number) }
        try await bench.succeed("verify", photos[0])
        try await bench.succeed("export", ids[1], "--output", target)
    }

    @Test func changedRecordsAreDetected() async throws {
        let bench = try await CaptureBench.registered()
        let photo = try bench.photo("a.jpg", seed: 1)
        let sent = try await bench.run(bench.sending(photo) + ["--captured-at", "2026-05-01T18:30:00Z"])
        try #require(sent.exitCode == 0)
        let id = try #require(try bench.records().first?.id)
        let other = try #require(try await CaptureBench.registered().sandbox.captureDevices().first?.publicKey)
        let key = try #require(Data(base64Encoded: other)).map { String(format: "%02x", $0) }.joined()
        let changes: [(sql: String, check: String)] = [
            ("body = CAST(replace(CAST(body AS TEXT), '2026-05-01', '2026-05-02') AS BLOB)", "signature"),
            ("body = substr(body, 1, 300)", "body_hash"), ("counter = counter + 2", "counter"),
            ("public_key = x'\(key)'", "signature"), ("rp_id = 'elsewhere'", "signature"),
        ]
        for (sql, check) in changes {
            try await edit(bench, sql)
            let verify = try await bench.run(["verify", photo, "--offline"])
            #expect(verify.exitCode == 8 && verify.errors.contains("does not match"), "\(sql): \(verify.errors)")
            let failed = verify.items.filter { $0["status"] as? String == "failed" }.map { $0["name"] as? String }
            #expect(failed.contains(check), "\(sql): \(failed)")
            let bundle = bench.runner.home.file("bundle.json")
            let export = try await bench.run(["export", id, "--bundle", bundle])
            #expect([8, 12].contains(export.exitCode) && !export.errors.isEmpty, "\(sql): \(export.errors)")
            #expect(!FileManager.default.fileExists(atPath: bundle))
            try await edit(bench, nil)
        }
        // A different hash: no record belongs to this file, and the media does not belong to the record.
        try await edit(bench, "media_hash = '\(String(repeating: "0", count: 64))'")
        #expect(try await bench.run(["verify", photo, "--offline"]).exitCode == 5)
        try await bench.fail(["export", id, "--output", bench.runner.home.file("out")], 8, naming: "the hashes differ")
        try await edit(bench, nil)
        try await bench.succeed("verify", photo)
        try await bench.succeed("export", id, "--bundle", bench.runner.home.file("bundle.json"))
    }

    /// Changes the only record; nil restores it.
    private func edit(_ bench: CaptureBench, _ sql: String?) async throws {
        let script = """
            import sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            db.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT * FROM captures")
            if len(sys.argv) > 2: db.execute("UPDATE captures SET " + sys.argv[2])
            else:
                db.execute("DELETE FROM captures")
                db.execute("INSERT INTO captures SELECT * FROM kept")
                db.execute("DROP TABLE kept")
            db.commit()
            """
        let result = try await ChildProcess.run(
            "/usr/bin/python3",
            ["-c", script, bench.dataPath + "/library.sqlite"] + (sql.map { [$0] } ?? [])
        )
        try #require(result.exitCode == 0, "\(result.errors)")
    }
}

/// A directory that is not writable, not even by root, as long as this object exists.
private final class ReadOnlyMount {
    private let path: String

    init(_ path: String) throws {
        self.path = path
        for options in [["--bind", path], ["-o", "remount,ro,bind"]] {
            let result = try ChildProcess.run("mount", options + [path])
            try #require(result.exitCode == 0, "\(result.errors)")
        }
    }

    deinit { _ = try? ChildProcess.run("umount", ["--lazy", path]) }
}
