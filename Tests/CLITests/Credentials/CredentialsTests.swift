import ArgumentParser
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaCLI
@testable import MediaTransport

@Suite struct CredentialsTests {
    let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    static let https = "https://media.example"

    /// All sources are set at first; the test removes them one by one, in order of precedence.
    @Test func theStrongestSourceOfCredentialsWins() async throws {
        try write("netrc", "machine media.example login netrc-user password from-netrc")
        let passwordFile = try write("password", "from-file\n")
        let keyFile = try write("key", "key-from-file\n")
        var flags = CredentialFlags(passwordFile: passwordFile)
        var environment = [
            "NETRC": home.file("netrc"), "MEDIACTL_PASSWORD": "from-variable",
            "MEDIACTL_PASSWORD_FILE": try write("p2", "from-variable-file"), "MEDIACTL_API_KEY": "key-from-variable",
            "MEDIACTL_API_KEY_FILE": try write("k2", "key-from-variable-file"), "PATH": "/usr/bin:/bin",
        ]
        let file = "profiles: {p: {password_command: [printf, 'from-command\\nmore']}}"
        func found(_ profile: String? = "p") async throws -> String {
            // A single profile would be the default.
            try await find(
                flags,
                file: profile == nil ? "" : file,
                settingsFlags: SettingsFlags([.user: "u"], profile: profile),
                environment
            )
        }
        #expect(try await found() == basic("u", "from-file"))
        flags = CredentialFlags(apiKeyFile: keyFile)
        #expect(try await found() == "X-API-Key: key-from-file")
        flags = CredentialFlags()
        #expect(try await found() == basic("u", "from-variable"))
        environment["MEDIACTL_PASSWORD"] = nil
        #expect(try await found() == basic("u", "from-variable-file"))
        environment["MEDIACTL_PASSWORD_FILE"] = ""
        #expect(try await found() == "X-API-Key: key-from-variable")
        environment["MEDIACTL_API_KEY"] = nil
        #expect(try await found() == "X-API-Key: key-from-variable-file")
        environment["MEDIACTL_API_KEY_FILE"] = nil
        #expect(try await found() == basic("u", "from-command"))
        try write("netrc", "machine media.example login u password from-netrc")
        #expect(try await found(nil) == basic("u", "from-netrc"))
        environment["NETRC"] = nil
        #expect(try await find(flags, user: "u", environment, prompt: "typed") == basic("u", "typed"))
    }

    @Test func theUserComesFromTheStrongestSource() async throws {
        try write(".netrc", "machine media.example login netrc-user password n")
        let environment = ["HOME": home.path, "MEDIACTL_PASSWORD": "p"]
        let file = "profiles: {p: {user: profile-user}}"
        let withVariable = environment.merging(["MEDIACTL_USER": "variable-user"]) { $1 }
        #expect(
            try await find(
                CredentialFlags(),
                file: file,
                settingsFlags: SettingsFlags([.user: "flag-user"], profile: "p"),
                withVariable
            )
                == basic("flag-user", "p")
        )
        #expect(
            try await find(CredentialFlags(), file: file, settingsFlags: SettingsFlags(profile: "p"), withVariable)
                == basic("variable-user", "p")
        )
        #expect(
            try await find(CredentialFlags(), file: file, settingsFlags: SettingsFlags(profile: "p"), environment)
                == basic("profile-user", "p")
        )
        #expect(try await find(CredentialFlags(), environment) == basic("netrc-user", "p"))
    }

    @Test(arguments: [
        ("secret", "secret"), ("secret\n", "secret"), ("secret\r\n", "secret"),
        (" se cret ", " se cret "),
        ("pässword:x\n", "pässword:x"),
    ])
    func oneTrailingNewlineIsRemoved(content: String, password: String) async throws {
        let path = try write("password", content)
        #expect(try await find(CredentialFlags(passwordFile: path), user: "u") == basic("u", password))
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        #expect(
            try await find(CredentialFlags(passwordStdin: true), user: "u", standardInput: descriptor)
                == basic("u", password)
        )
    }

    /// A second line, or a byte at which a C string would end, is not part of a password: the wrong file was
    /// specified.
    @Test(arguments: ["canary\n\n", "canary\nmore", "canary\r\nmore\r\n", "canary\u{0}", "\u{0}canary\n", "\n"])
    func moreThanOneLineIsRefused(content: String) async throws {
        let path = try write("password", content)
        for flags in [CredentialFlags(passwordFile: path), CredentialFlags(apiKeyFile: path)] {
            let error = await #expect(throws: CredentialError.self) { try await find(flags, user: "u") }
            #expect(error?.exitCode == 2)
            #expect(error?.message.contains(path) == true)
            #expect(error.map { "\($0)".contains("canary") } == false)
        }
    }

    struct Refusal: Sendable {
        var flags = CredentialFlags()
        var user: String? = "u"
        var environment: [String: String] = [:]
        var file = ""
        var exitCode: Int32
        var excerpt: String
    }

    @Test(arguments: [
        Refusal(flags: CredentialFlags(passwordStdin: true, passwordFile: "/x"), exitCode: 2, excerpt: "only one of"),
        Refusal(flags: CredentialFlags(passwordFile: "/nonexistent/p"), exitCode: 2, excerpt: "no such file"),
        Refusal(flags: CredentialFlags(passwordFile: "/dev/null"), exitCode: 2, excerpt: "is empty"),
        Refusal(flags: CredentialFlags(apiKeyFile: "/"), exitCode: 2, excerpt: "is a directory"),
        Refusal(user: nil, environment: ["MEDIACTL_PASSWORD": "canary"], exitCode: 2, excerpt: "--user"),
        Refusal(user: "a\nb", environment: ["MEDIACTL_PASSWORD": "canary"], exitCode: 2, excerpt: "control"),
        Refusal(user: "a:\u{301}", environment: ["MEDIACTL_PASSWORD": "canary"], exitCode: 2, excerpt: "colon"),
        Refusal(user: "a:b", environment: ["MEDIACTL_PASSWORD": "canary"], exitCode: 2, excerpt: "colon"),
        Refusal(environment: ["MEDIACTL_API_KEY": "canary\r\nX: y"], exitCode: 2, excerpt: "header"),
        Refusal(exitCode: 4, excerpt: "--password-stdin"),
        Refusal(user: nil, exitCode: 4, excerpt: "netrc"),
        Refusal(file: "profiles: {p: {password_command: ['false', canary]}}", exitCode: 4, excerpt: "exit code 1"),
        Refusal(
            file: "profiles: {p: {password_command: ['true', canary]}}",
            exitCode: 4,
            excerpt: "did not print a password"
        ),
        Refusal(file: "profiles: {p: {password_command: [no-such-program]}}", exitCode: 4, excerpt: "not in PATH"),
        Refusal(file: "profiles: {p: {password_command: [/nonexistent/x]}}", exitCode: 4, excerpt: "cannot be run"),
    ])
    func refusals(refusal: Refusal) async throws {
        let error = await #expect(throws: CredentialError.self) {
            try await find(
                refusal.flags,
                file: refusal.file,
                settingsFlags: SettingsFlags([.user: refusal.user], profile: refusal.file.isEmpty ? nil : "p"),
                refusal.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }
            )
        }
        #expect(error?.exitCode == refusal.exitCode)
        let text = [error?.message, error?.hint].compactMap { $0 }.joined(separator: "; ")
        #expect(text.contains(refusal.excerpt))
        #expect(!text.contains("canary"))
    }

    @Test func noInputNeverPrompts() async throws {
        for options in [[], ["--no-input"]] {
            let session = try await SettingsSession.open(
                TestConsole().console(isTerminal: true),
                global: try GlobalOptions.parse(options),
                connection: SettingsFlags()
            )
            #expect(session.prompter.isAllowed == options.isEmpty)
            let hasPrompt = try await session.search(
                CredentialFlags(),
                at: ServerURL(Self.https).origin,
                of: .uploadsURL
            ) { $0.dependencies.prompt != nil }
            #expect(hasPrompt == options.isEmpty)
        }
    }

    /// None of the user's files is opened, so an error in the netrc goes unnoticed.
    @Test(arguments: [
        ("http://media.example", false), ("http://192.168.1.2:8080", false), ("http://localhost.example", false),
        ("http://127.0.0.1:8080", true), ("http://localhost", true), ("http://[::1]:81", true),
        ("https://media.example", true),
    ])
    func plainHTTPIsForLoopbackOnly(server: String, isAllowed: Bool) async throws {
        let environment = ["MEDIACTL_PASSWORD": "p"]
        if isAllowed {
            #expect(try await find(CredentialFlags(), user: "u", environment, server: server) == basic("u", "p"))
            return
        }
        let netrc = try write("netrc", "machine \"open")
        let error = await #expect(throws: CredentialError.self) {
            try await find(CredentialFlags(passwordFile: "/nonexistent"), user: "u", ["NETRC": netrc], server: server)
        }
        #expect(error?.exitCode == 2)
        #expect(error?.hint?.contains("--allow-http") == true)
        #expect(error?.hint?.contains("https") == true)
        let allowed = SettingsFlags([.user: "u", .allowHTTP: "true"])
        #expect(
            try await find(CredentialFlags(), settingsFlags: allowed, environment, server: server) == basic("u", "p")
        )
    }

    @Test func readableByOthersIsAWarning() async throws {
        let path = try write("password", "p")
        let netrc = try write("netrc", "machine media.example login u password p")
        for (flags, environment, mode, warnings) in [
            (CredentialFlags(passwordFile: path), [:], 0o600, 0), (CredentialFlags(passwordFile: path), [:], 0o640, 1),
            (CredentialFlags(), ["NETRC": netrc], 0o604, 1), (CredentialFlags(), ["NETRC": netrc], 0o600, 0),
        ] as [(CredentialFlags, [String: String], Int, Int)] {
            chmod(path, mode_t(mode))
            chmod(netrc, mode_t(mode))
            let warned = Warnings()
            _ = try await find(flags, user: "u", environment, warn: { warned.add($0) })
            #expect(warned.all.count == warnings)
            #expect(warned.all.allSatisfy { $0.contains("chmod 600") })
        }
    }

    // MARK: Parts

    private func find(
        _ flags: CredentialFlags,
        user: String? = nil,
        file: String = "",
        settingsFlags: SettingsFlags? = nil,
        _ environment: [String: String] = [:],
        server: String = https,
        prompt: String? = nil,
        standardInput: Int32 = -1,
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> String {
        let settings = try await resolve(
            file: file,
            flags: settingsFlags ?? SettingsFlags([.user: user]),
            environment: environment
        )
        var dependencies = CredentialDependencies(standardInput: standardInput, warn: warn)
        if let prompt { dependencies.prompt = { _, _ throws(CredentialError) in prompt } }
        let origin = try ServerURL(server).origin
        let search = CredentialSearch(
            flags: flags,
            server: try settings.server(origin, of: .uploadsURL, named: [origin]),
            environment: environment,
            origin: origin,
            dependencies: dependencies
        )
        let authorization = try await search.run()
        #expect(authorization.origin == (try ServerURL(server).origin))
        return revealed(authorization)
    }

    @discardableResult private func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: home.file(name)))
        chmod(home.file(name), 0o600)
        return home.file(name)
    }

    private func basic(_ user: String, _ password: String) -> String { "\(user):\(password)" }

    /// The secrets that the description of an `Authorization` value hides.
    private func revealed(_ authorization: Authorization) -> String {
        var texts: [String] = []
        func collect(_ value: Any) {
            if let text = value as? String { texts.append(text) }
            for child in Mirror(reflecting: value).children { collect(child.value) }
        }
        collect(authorization.scheme)
        return texts.joined(separator: authorization.user == nil ? ": " : ":")
    }
}

private final class Warnings: Sendable {
    private let texts = Mutex<[String]>([])
    func add(_ text: String) { texts.withLock { $0.append(text) } }
    var all: [String] { texts.withLock { $0 } }
}
