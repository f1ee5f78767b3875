import Foundation
import TestSupport
import Testing

/// The built program, a sandbox that accepts captures, and a photo with its depth map.
struct HashOnlyFixture: Sendable {
    let sandbox: SandboxProcess
    var runner: BinaryRunner
    /// Path of a photo.
    let photo: String
    /// Path of its depth map: raw binary32, 3×3.
    let depth: String

    /// The options for the photo's depth map.
    var depthOptions: [String] { ["--depth", depth, "--depth-size", "3x3"] }

    init(faults: [String] = [], arguments: [String] = []) async throws {
        sandbox = try await SandboxProcess.start(faults: faults, arguments: arguments)
        runner = try BinaryRunner()
        runner.environment.merge(["MEDIACTL_CAPTURE_URL": sandbox.baseURL, "MEDIACTL_RETRIES": "0"]) { $1 }
        photo = runner.home.file("photo.jpg")
        depth = runner.home.file("photo.f32")
        try (Data([0xFF, 0xD8, 0xFF, 0xE0]) + Data("a photo of the square".utf8))
            .write(to: URL(fileURLWithPath: photo))
        let samples: [Float] = [1, 2, 3, 4, 5, 6, 7, 8, 9]
        try samples.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: depth))
    }

    /// An environment whose machine is registered.
    static func registered(faults: [String] = [], arguments: [String] = []) async throws -> HashOnlyFixture {
        let fixture = try await HashOnlyFixture(faults: faults, arguments: arguments)
        let result = try await fixture.runner.run(["hash-only", "register", "-q"])
        try #require(result.exitCode == 0, "\(result.errors)")
        return fixture
    }

    /// Runs a command of `hash-only` to completion.
    func run(_ arguments: [String], extra: [String: String] = [:]) async throws -> ChildResult {
        try await runner.run(["hash-only"] + arguments, extra: extra)
    }

    /// Sends the photo with its depth map.
    func send(_ arguments: String...) async throws -> SyncFixture.Report {
        try await json(["send", photo] + depthOptions + arguments)
    }

    /// Runs a command with `--json`; the first five lines and the last one must have their documented shape, and the
    /// last must be the final record.
    func json(_ arguments: [String], extra: [String: String] = [:]) async throws -> SyncFixture.Report {
        try SyncFixture.report(of: try await run(arguments + ["--json"], extra: extra))
    }

    /// The items of a control route about captures.
    func captures(_ name: String) async throws -> [[String: Any]] {
        try JSONSerialization.jsonObject(with: try await sandbox.captures(name)) as? [[String: Any]] ?? []
    }

    /// The request bodies that the sandbox received on a path, unchanged.
    func bodies(at path: String = "/api/v1/captures/hash-only") async throws -> [Data] {
        try await captures("bodies").filter { $0["path"] as? String == path }
            .compactMap { ($0["body"] as? String).flatMap { Data(base64Encoded: $0) } }
    }

    /// A program that signs with a key in the home directory, and its public key. It hangs if a file named `hang`
    /// exists.
    func signer(form: String = "PEM") async throws -> (program: String, publicKey: String) {
        let home = runner.home
        let (digest, key, publicKey) = (home.file("digest"), home.file("card.pem"), home.file("card.pub"))
        let script = try file(
            "signer",
            """
            #!/bin/sh
            read digest
            if [ -e '\(home.file("hang"))' ]; then
                echo $$ > '\(home.file("pid"))'
                exec sleep 600
            fi
            /usr/bin/printf '%b' "$(printf '%s' "$digest" | sed 's/../\\\\x&/g')" > '\(digest)'
            openssl pkeyutl -sign -inkey '\(key)' -in '\(digest)' | base64

            """
        )
        try #require(chmod(script, 0o700) == 0)
        for arguments in [
            ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key],
            ["pkey", "-in", key, "-pubout", "-outform", form, "-out", publicKey],
        ] {
            let made = try await ChildProcess.run("openssl", arguments)
            try #require(made.exitCode == 0, "\(made.errors)")
        }
        return (script, publicKey)
    }

    /// A file in the home directory.
    func file(_ name: String, _ text: String) throws -> String {
        try runner.home.write(name, text.utf8)
    }

    /// Writes the privacy settings.
    func privacy(_ text: String) throws {
        let directory = runner.home.file("config/mediactl")
        try makeDirectory(directory)
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/hash-only.json"))
    }
}
