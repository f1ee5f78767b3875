internal import Foundation
internal import Testing

/// Searches for secrets in the output of the built `mediactl`, in the files it leaves, and in its arguments and those
/// of the programs that it starts. Every child that runs it has a watch, so that each test of the binary also tests
/// this.
///
/// Secrets are the child's inputs (variables, files, standard input), those that the sandbox creates (its tokens and
/// keys have a mark), and the keys that the child itself has created.
final class SecretWatch: Sendable {
    private struct State: Sendable {
        /// The values to search for, by their meaning.
        var secrets: [String: [UInt8]]
        /// Secrets that occurred in arguments.
        var amongArguments: Set<String> = []
        var isOver = false
    }

    private let state: Locked<State>
    private let home: String?
    private let start = Date()
    /// Whether printing delete tokens was requested.
    private let mayShowTokens: Bool
    /// Whether copying the token store was requested.
    private let mayCopyTokens: Bool
    /// Whether the program runs under `strace`: its home then contains its system calls.
    private let isTraced: Bool

    /// Nil unless the built program is run.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - environment: All variables of the child.
    init?(_ words: [String], environment: [String: String]) {
        let programs = [BuiltProgram.path("mediactl"), BuiltProgram.besideTests("mediactl")]
        guard let place = words.firstIndex(where: programs.contains) else { return nil }
        let arguments = Array(words[(place + 1)...])
        isTraced = words[..<place].contains { $0.hasSuffix("strace") }
        home = environment["HOME"]
        mayShowTokens = arguments.contains("--show-token") || arguments.starts(with: ["uploads", "export"])
        mayCopyTokens = mayShowTokens || arguments.starts(with: ["store", "backup"])
        var secrets = Self.marks
        for (name, value) in environment where Self.isSecret(name) { secrets[name] = value }
        for (option, path) in zip(arguments, arguments.dropFirst()) where Self.fileOptions.contains(option) {
            secrets[option] = Self.smallText(path)
        }
        // A secret that a test itself passes as an argument is exempt: only those added by the program are searched
        // for.
        let passed = Array(arguments.joined(separator: "\0").utf8)
        state = Locked(
            State(secrets: secrets.compactMapValues(Self.searchable).filter { passed.offset(of: $0.value) == nil })
        )
    }

    // MARK: Secrets

    /// `SANDBOX!` in hexadecimal, the start of the sandbox's tokens and keys.
    private static let sandboxMark = Array("53414e44424f5821".utf8)

    private static let marks = [
        "a token or key of the sandbox": String(decoding: sandboxMark, as: UTF8.self),
        "alice's key": SandboxProcess.aliceKey,
        "bob's key": SandboxProcess.bobKey,
        "a private key": "PRIVATE KEY-----",
        "the login of uploader": Data("uploader:uploader".utf8).base64EncodedString(),
        "the login of admin": Data("admin:admin".utf8).base64EncodedString(),
        "the login of viewer": Data("viewer:viewer".utf8).base64EncodedString(),
    ]

    private static let fileOptions: Set = [
        "--password-file", "--api-key-file", "--upload-token-file", "--event-link-file",
    ]

    /// Passwords of the sandbox that are also user names.
    private static let publicWords: Set = ["uploader", "admin", "viewer", "contributor", "owner", "alice", "bob"]

    private static func isSecret(_ variable: String) -> Bool {
        ["MEDIACTL_PASSWORD", "MEDIACTL_API_KEY"].contains(variable)
    }

    /// A value that occurs only where it was printed; nil if it is too short for that, or is also a user name.
    private static func searchable(_ text: String) -> [UInt8]? {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return text.utf8.count >= 6 && !publicWords.contains(text) ? Array(text.utf8) : nil
    }

    private static func smallText(_ path: String) -> String? {
        var status = stat()
        // Only regular files are read, because others could block.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= 4096 else { return nil }
        return FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Records the bytes written to standard input, if a secret is read from it.
    func add(input: String, of arguments: [String]) {
        guard arguments.contains(where: { $0.hasSuffix("-stdin") }), let secret = Self.searchable(input) else { return }
        state.withLock { $0.secrets["standard input"] = secret }
    }

    // MARK: Searched output and files

    /// Checks everything once; findings are recorded as issues of the test that waits for the child.
    func finish(_ result: ChildResult) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        guard isFirst else { return }
        var secrets = state.withLock { $0.secrets }
        for (number, key) in keysOfTheChild().enumerated() { secrets["key \(number) of the child"] = key }
        for name in state.withLock({ $0.amongArguments }) {
            Issue.record("\(name) was among the arguments of a process")
        }
        for (place, text) in [("standard output", result.output), ("standard error", result.errors)] {
            let bytes = Array(text.utf8)
            for (name, secret) in secrets where isShown(secret, in: bytes) {
                Issue.record("mediactl wrote \(name) to \(place): \(context(of: secret, in: bytes))")
            }
        }
        if !isTraced {
            checkFiles(for: secrets)
        }
    }

    /// Searches the arguments of the child, or of a program that it has started.
    func look(at arguments: [UInt8]) {
        state.withLock { state in
            for (name, secret) in state.secrets where arguments.offset(of: secret) != nil {
                state.amongArguments.insert(name)
            }
        }
    }

    private func isShown(_ secret: [UInt8], in text: [UInt8]) -> Bool {
        !(mayShowTokens && secret == Self.sandboxMark) && Self.contains(text, secret)
    }

    private static func contains(_ text: [UInt8], _ secret: [UInt8]) -> Bool {
        text.offset(of: secret) != nil || base64(of: secret).contains { text.offset(of: $0) != nil }
    }

    /// The secret in base64, as in the header of a Basic login, for each position in a group of three bytes; without
    /// the ends, which depend on adjacent bytes.
    private static func base64(of secret: [UInt8]) -> [[UInt8]] {
        guard secret.count >= 12 else { return [] }
        return (0..<3).map { offset in
            Array(Data(secret[offset..<offset + (secret.count - offset) / 3 * 3]).base64EncodedData())
        }
    }

    private func context(of secret: [UInt8], in text: [UInt8]) -> String {
        guard let offset = text.offset(of: secret) else { return "in base64" }
        return "…\(String(decoding: text[..<offset].suffix(60), as: UTF8.self))…"
    }

    // MARK: Files

    /// The key of the vault, and those of devices.
    private func keysOfTheChild() -> [[UInt8]] {
        guard let home else { return [] }
        let data = home + "/data/mediactl"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: data + "/capture-keys")) ?? []
        let keys = names.compactMap { Self.smallText("\(data)/capture-keys/\($0)") }
        let lines = keys.flatMap { $0.split(separator: "\n").map(String.init) }
        let vaultKey = Self.smallText(data + "/captures/vault.key").map { [$0] } ?? []
        return (lines + vaultKey).filter { !$0.hasPrefix("-----") }.compactMap(Self.searchable)
    }

    /// Files that are meant to contain secrets.
    private static func isPlaceOfSecrets(_ name: String) -> Bool {
        let last = name.split(separator: "/").last ?? ""
        return [
            "tokens.sqlite", "library.sqlite", "logins.json", ".logins.json", "rescue-", "vault.key", ".vault.key-",
        ].contains {
            last.hasPrefix($0)
        }
            || name.contains("/capture-keys/") || name.contains("mediactl/backups/tokens-")
    }

    /// Checks the files written below the child's home: secrets may be only in files meant for them, which only their
    /// owner may read.
    private func checkFiles(for secrets: [String: [UInt8]]) {
        guard let home, let names = FileManager.default.enumerator(atPath: home) else { return }
        while let name = names.nextObject() as? String {
            var status = stat()
            guard lstat(home + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9 >= start.timeIntervalSince1970
            else { continue }
            let isPrivate = status.st_mode & 0o077 == 0
            if Self.isPlaceOfSecrets(name) {
                if !isPrivate { Issue.record("\(name) can be read by users other than its owner") }
                continue
            }
            // Of longer files, such as videos, the start is searched.
            guard let file = FileHandle(forReadingAtPath: home + "/" + name),
                let content = try? file.read(upToCount: 16 << 20)
            else { continue }
            let bytes = Array(content)
            for (secretName, secret) in secrets where Self.contains(bytes, secret) {
                let isWanted = mayCopyTokens && secret == Self.sandboxMark && isPrivate
                if !isWanted { Issue.record("mediactl left \(secretName) in \(name)") }
            }
        }
    }
}
