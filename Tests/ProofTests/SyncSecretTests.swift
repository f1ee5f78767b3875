import Foundation
import MediaStore
import TestSupport
import Testing

/// Marked keys and passwords of a photo server are searched for in all output and files of the program.
@Suite struct SyncSecretTests {
    private static let key = "ca9a51e5" + String(repeating: "7", count: 56)
    private static let wrongKey = "ca9a51e5" + String(repeating: "8", count: 56)
    private static let password = "canary-PASSWORD-4711"
    private static let wrongPassword = "canary-WRONG-0815"

    private func expectPrivate(_ tree: Tree) {
        for (name, file) in tree.files { #expect(file.mode == 0o600, "\(name)") }
        for (name, mode) in tree.directories { #expect(mode == 0o700, "\(name)") }
    }

    @Test func noKeyAndNoPasswordIsWritten() async throws {
        let sandbox = try await SandboxProcess.start(
            arguments: ["--photosync-user", "carol@example.test:\(Self.password):\(Self.key)"]
        )
        let bench = try PhotoBench(sandbox)
        let witness = Witness(bench.runner)
        try bench.addPictures("a.jpg")
        try await sandbox.addPhotos(#"{"user":"carol@example.test","content":"one"}"#)
        let secrets = try TemporaryDirectory()
        try Data(Self.password.utf8).write(to: URL(fileURLWithPath: secrets.file("password")))
        try Data(Self.key.utf8).write(to: URL(fileURLWithPath: secrets.file("key")))
        let wrong = ["MEDIACTL_API_KEY": Self.wrongKey]
        let login = ["login", "--email", "carol@example.test", "--yes"]
        let push = ["sync", "push", bench.pictures]
        let download = ["sync", "download", "--missing", "--output", bench.target]
        var newKeys: [String] = []

        for options in [["-vv"], ["--json", "-vv", "--progress-events"]] {
            try await witness.run(["login", "--api-key-stdin"] + options, expecting: 4, input: Self.wrongKey)
            try await witness.run(login + ["--password-stdin"] + options, expecting: 4, input: Self.wrongPassword)
            let right = newKeys.last ?? Self.key
            try await witness.run(["login", "--api-key-stdin"] + options, expecting: 0, input: right)
            try await witness.run(["login"] + options, expecting: 0, ["MEDIACTL_API_KEY": right])
            for command in [["sync"], push, ["sync", "list"], download, ["sync", "verify"], ["config", "show"]] {
                try await witness.run(command + options, expecting: 0)
            }
            try await witness.run(["claim-legacy", "--all", "--yes"] + options, expecting: 0)
            for command in [["sync"], ["sync", "status"], ["sync", "verify"], ["claim-legacy", "--list"]] {
                try await witness.run(command + options, expecting: 4, wrong)
            }
            for fault in ["status=500", "html", "redirect=http://127.0.0.1:1/", "reset"] {
                try await sandbox.addFaults("photos-list:\(fault)", "photos-status:\(fault)")
                let result = try await bench.runner.run(["sync"] + options)
                #expect(result.exitCode != 0)
                witness.written += result.output + result.errors
                try await sandbox.clearFaults()
            }
            // The server issues a new key for this login.
            try await witness.run(login + ["--password-file", secrets.file("password")] + options, expecting: 0)
            let store = try LibraryStore(in: DataDirectory.open(bench.dataPath))
            newKeys.append(try #require(try store.logins().first?.apiKey))
        }
        try await witness.run(["login", "--api-key-file", secrets.file("key"), "-vv"], expecting: 4)
        #expect(Set(newKeys + [Self.key]).count == 3)
        #expect(witness.written.contains("trace: POST \(sandbox.baseURL)/api/sync/photos"), "the run produced output")

        let secretWords = newKeys + [Self.key, Self.wrongKey, Self.password, Self.wrongPassword]
        for secret in secretWords { #expect(!witness.written.contains(secret)) }
        let home = try Tree(bench.runner.home.path)
        for (name, file) in home.files where !name.hasPrefix("data/mediactl/library.sqlite") {
            for secret in secretWords { #expect(file.content.range(of: Data(secret.utf8)) == nil, "\(name)") }
        }
        expectPrivate(try Tree(bench.runner.home.file("data")))
        expectPrivate(try Tree(bench.runner.home.file("cache")))
        // The database, and its log.
        let stores = home.files.filter { $0.key.hasPrefix("data/mediactl/library.sqlite") }
        #expect(!stores.isEmpty)
        for (name, store) in stores {
            #expect(store.content.range(of: Data("canary-".utf8)) == nil, "no password is kept in \(name)")
            // The earlier keys are not kept either.
            for old in [Self.key, newKeys[0]] { #expect(store.content.range(of: Data(old.utf8)) == nil, "\(name)") }
        }

        try await witness.run(["logout", "-vv"], expecting: 0)
        for (name, file) in try Tree(bench.runner.home.path).files {
            for secret in secretWords { #expect(file.content.range(of: Data(secret.utf8)) == nil, "\(name)") }
        }
    }
}
