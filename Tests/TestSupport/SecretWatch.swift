internal import Foundation
internal import Testing

/// Looks for secrets in what the built `mediactl` says, in the files it leaves, and in the arguments of it and of the programs
/// it starts. Every child that runs it has one, so that each test of the binary is a test of this as well.
///
/// Secrets are what the child was given (variables, files, standard input), what the sandbox makes (its tokens and keys have a
/// mark), and the keys that the child itself has made.
final class SecretWatch: Sendable {
    private struct State: Sendable {
        /// What to look for, by what it is.
        var secrets: [String: String]
        /// Which of them stood among arguments.
        var amongArguments: Set<String> = []
        var isOver = false
    }

    private let state: Locked<State>
    private let home: String?
    private let start = Date()
    /// Delete tokens are what was asked for.
    private let mayShowTokens: Bool
    /// Under `strace` the program's home holds its system calls.
    private let isAlone: Bool

    /// Nil unless the built program is run.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - environment: All variables of the child.
    init?(_ words: [String], environment: [String: String]) {
        let programs = [BuiltProgram.path("mediactl"), BuiltProgram.besideTests("mediactl")]
        guard let place = words.firstIndex(where: programs.contains) else { return nil }
        let arguments = Array(words[(place + 1)...])
        isAlone = place == 0
        home = environment["HOME"]
        mayShowTokens = arguments.contains("--show-token") || arguments.starts(with: ["uploads", "export"])
        var secrets = Self.marks
        for (name, value) in environment where Self.isSecret(name) { secrets[name] = value }
        for (option, path) in zip(arguments, arguments.dropFirst()) where Self.fileOptions.contains(option) {
            secrets[option] = Self.smallText(path)
        }
        state = Locked(State(secrets: secrets.compactMapValues(Self.searchable)))
        // A secret that a test puts among the arguments is none: what is looked for is what the program adds.
        state.withLock { state in
            state.secrets = state.secrets.filter { secret in !arguments.contains { $0.contains(secret.value) } }
        }
    }

    // MARK: What is secret

    /// `SANDBOX!` in hexadecimal: with it the sandbox's tokens and keys begin.
    private static let sandboxMark = "53414e44424f5821"

    private static let marks = [
        "a token or key of the sandbox": sandboxMark,
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

    /// Passwords of the sandbox that are names of users as well.
    private static let publicWords: Set = ["uploader", "admin", "viewer", "contributor", "owner", "alice", "bob"]

    private static func isSecret(_ variable: String) -> Bool {
        ["MEDIACTL_PASSWORD", "MEDIACTL_API_KEY"].contains(variable)
    }

    /// What can be found only where it was shown; nil for what is too short for that.
    private static func searchable(_ text: String) -> String? {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return text.utf8.count >= 6 && !publicWords.contains(text) ? text : nil
    }

    private static func smallText(_ path: String) -> String? {
        var status = stat()
        // Nothing that could keep us waiting.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= 4096 else { return nil }
        return FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Notes what goes to standard input, when that is where a secret is read from.
    func add(input: String, of arguments: [String]) {
        guard arguments.contains(where: { $0.hasSuffix("-stdin") }), let secret = Self.searchable(input) else { return }
        state.withLock { $0.secrets["standard input"] = secret }
    }

    // MARK: Where it is looked for

    /// Looks at everything, once; what is found is an issue of the test that waits for the child.
    func finish(_ result: ChildResult) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        guard isFirst else { return }
        var secrets = state.withLock { $0.secrets }
        for (number, key) in keysOfTheChild().enumerated() { secrets["key \(number) of the child"] = key }
        for name in state.withLock({ $0.amongArguments }) {
            Issue.record("\(name) stood among the arguments of a process")
        }
        for (place, text) in [("standard output", result.output), ("standard error", result.errors)] {
            for (name, secret) in secrets where contains(text, secret, name) {
                Issue.record("mediactl wrote \(name) to \(place): \(context(of: secret, in: text))")
            }
        }
        if isAlone {
            checkFiles(for: secrets)
        }
    }

    /// Takes the arguments of the child, or of a program that it has started.
    func look(at arguments: String) {
        state.withLock { state in
            state.amongArguments.formUnion(state.secrets.filter { arguments.contains($0.value) }.keys)
        }
    }

    private func contains(_ text: String, _ secret: String, _ name: String) -> Bool {
        if mayShowTokens, secret == Self.sandboxMark { return false }
        return text.utf8.count >= secret.utf8.count && text.contains(secret)
            || Self.base64(of: secret).contains { text.contains($0) }
    }

    /// What the text's bytes are in base64, wherever they begin in a group of three; without the ends, which depend on the
    /// neighbours. As in the header of a Basic login.
    private static func base64(of secret: String) -> [String] {
        guard secret.utf8.count >= 12 else { return [] }
        return (0..<3).map { offset in
            let bytes = Array(secret.utf8.dropFirst(offset))
            return Data(bytes.prefix(bytes.count / 3 * 3)).base64EncodedString()
        }
    }

    private func context(of secret: String, in text: String) -> String {
        guard let range = text.range(of: secret) else { return "in base64" }
        return "…\(text[..<range.lowerBound].suffix(60))…"
    }

    // MARK: Files

    /// The key of the vault, and those of devices.
    private func keysOfTheChild() -> [String] {
        guard let home else { return [] }
        let data = home + "/data/mediactl"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: data + "/capture-keys")) ?? []
        let keys = names.compactMap { Self.smallText("\(data)/capture-keys/\($0)") }
        let lines = keys.flatMap { $0.split(separator: "\n").map(String.init) }
        let vaultKey = Self.smallText(data + "/captures/vault.key").map { [$0] } ?? []
        return (lines + vaultKey).filter { !$0.hasPrefix("-----") }.compactMap(Self.searchable)
    }

    /// Files that hold secrets because that is what they are for.
    private static func isPlaceOfSecrets(_ name: String) -> Bool {
        let last = name.split(separator: "/").last ?? ""
        return [
            "tokens.sqlite", "library.sqlite", "logins.json", ".logins.json", "rescue-", "vault.key", ".vault.key-",
        ].contains {
            last.hasPrefix($0)
        }
            || name.contains("/capture-keys/") || name.contains("mediactl/backups/tokens-")
    }

    /// What the child has written below its home: secrets lie in their own places, for their owner alone.
    private func checkFiles(for secrets: [String: String]) {
        guard let home, let names = FileManager.default.enumerator(atPath: home) else { return }
        var seen = 0
        while let name = names.nextObject() as? String {
            seen += 1
            // Thousands of clips are no place where a secret is left by mistake.
            guard seen <= 2000 else { return }
            var status = stat()
            guard lstat(home + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9 >= start.timeIntervalSince1970
            else { continue }
            let isPrivate = status.st_mode & 0o077 == 0
            if Self.isPlaceOfSecrets(name) {
                if !isPrivate { Issue.record("\(name) can be read by others than its owner") }
                continue
            }
            guard status.st_size <= 256 << 10, let content = FileManager.default.contents(atPath: home + "/" + name)
            else { continue }
            for (secretName, secret) in secrets where content.range(of: Data(secret.utf8)) != nil {
                let isWanted = mayShowTokens && secret == Self.sandboxMark && isPrivate
                if !isWanted { Issue.record("mediactl left \(secretName) in \(name)") }
            }
        }
    }
}
