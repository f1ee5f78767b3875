import Foundation
import GigHive
import MediaStore
import Outcomes
import TestSupport
import Testing

@testable import MediaCLI
@testable import MediaTransport

/// The file of logins, and the credentials it provides.
@Suite struct LoginStoreTests {
    let home: TemporaryDirectory
    let store: LoginStore
    let origin: Origin

    init() throws {
        home = try TemporaryDirectory()
        store = LoginStore(directory: home.file("data"))
        origin = try ServerURL("https://media.example").origin
    }

    private static let login = IssuedLogin(
        token: "canary-TOKEN",
        role: "contributor",
        email: "ann@example.org",
        expiresAt: 4_102_444_800
    )

    private var path: String { home.file("data/logins.json") }

    // MARK: The file

    @Test func aLoginIsStoredForItsOriginOnly() throws {
        #expect(try store.entries().isEmpty && !FileManager.default.fileExists(atPath: home.file("data")))
        try store.update(origin) { $0.login = Self.login }
        #expect(try store.entry(for: origin) == LoginStore.Entry(login: Self.login))
        for other in ["http://media.example", "https://media.example:8443", "https://other.example"] {
            #expect(try store.entry(for: ServerURL(other).origin) == LoginStore.Entry())
        }
    }

    @Test func onlyItsOwnerCanReadTheFile() throws {
        let mask = umask(0)
        defer { umask(mask) }
        try store.update(origin) { $0.login = Self.login }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: home.file("data")).sorted() == ["locks", "logins.json"]
        )
        // Loosened permissions are tightened by the next command, in a directory that belongs to the store.
        chmod(path, 0o644)
        #expect(try DataDirectory.open(home.file("data")).warnings.count == 1)
        let tightened = try FileManager.default.attributesOfItem(atPath: path)
        #expect(tightened[.posixPermissions] as? Int == 0o600)
    }

    @Test func aLinkIsRefused() throws {
        try store.update(origin) { $0.login = Self.login }
        let target = home.file("elsewhere")
        try FileManager.default.moveItem(atPath: path, toPath: target)
        try makeLink(path, to: target)
        for call in [{ _ = try store.entries() }, { try store.update(origin) { $0.login = nil } }]
            as [() throws -> Void]
        {
            let error = #expect(throws: StoreError.self) { try call() }
            #expect(error?.kind == .unsafe)
        }
        let content = try String(contentsOfFile: target, encoding: .utf8)
        #expect(content.contains("canary-TOKEN"), "the target of the link was not changed")
    }

    /// A file that cannot be parsed is not treated as permission to use passwords.
    @Test(arguments: [
        ("", StoreError.Kind.corrupt), ("[]", .corrupt), (#"{"version":2,"servers":{}}"#, .newerVersion),
        (#"{"version":1,"servers":{"media.example":{"requires_login":true}}}"#, .corrupt),
        (#"{"version":1,"servers":{"https://media.example/":{"requires_login":true}}}"#, .corrupt),
        (#"{"version":1,"servers":{"https://media.example":{"scheme":"other","token":"t"}}}"#, .corrupt),
    ])
    func aFileThatCannotBeParsedIsAnError(content: String, kind: StoreError.Kind) throws {
        try makeDirectory(home.file("data"))
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: StoreError.self) { try store.entries() }
        #expect(error?.kind == kind && error.map { "\($0)".contains("canary") } == false)
    }

    @Test func loggingOutKeepsTheLoginRequirement() throws {
        let other = try ServerURL("https://other.example").origin
        try store.update(origin) { $0 = LoginStore.Entry(login: Self.login, requiresLogin: true) }
        try store.update(other) { $0.login = Self.login }
        for each in [origin, other] { #expect(try store.update(each) { $0.login = nil }) }
        #expect(try store.entries() == ["https://media.example": LoginStore.Entry(requiresLogin: true)])
        #expect(try store.requirements() == [origin])
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("canary"))
    }

    @Test func concurrentChangesAreAllStored() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...8 {
                group.addTask { [store] in
                    let origin = try ServerURL("https://host\(number).example").origin
                    try store.update(origin) { $0.requiresLogin = true }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.requirements().count == 8)
    }

    @Test func noDescriptionShowsTheToken() throws {
        var texts = ["\(Self.login)", String(reflecting: Self.login), "\(LoginStore.Entry(login: Self.login))"]
        var text = ""
        dump(LoginStore.Entry(login: Self.login), to: &text)
        texts.append(text)
        for text in texts { #expect(!text.contains("canary")) }
    }

    // MARK: The choice

    private func search(
        _ entry: LoginStore.Entry,
        _ flags: CredentialFlags = CredentialFlags(),
        _ environment: [String: String] = [:],
        command: [String]? = nil,
        prompt: String? = nil,
        user: Setting<String> = Setting(value: "u", origin: .environment("MEDIACTL_USER"))
    ) async throws -> Authorization {
        var server = ServerSettings(takesEnvironment: true, isTarget: true)
        server.user = user
        server.passwordCommand = command.map { Setting(value: $0, origin: .builtIn) }
        var dependencies = CredentialDependencies()
        if let prompt { dependencies.prompt = { _, _ throws(CredentialError) in prompt } }
        return try await CredentialSearch(
            flags: flags,
            server: server,
            environment: environment.merging(["PATH": "/usr/bin:/bin"]) { $1 },
            origin: origin,
            dependencies: dependencies,
            stored: entry
        )
        .run()
    }

    @Test func credentialsOfTheRunTakePrecedence() async throws {
        let entry = LoginStore.Entry(login: Self.login)
        let file = try home.write("password", "p".utf8)
        chmod(file, 0o600)
        #expect(try await search(entry, CredentialFlags(passwordFile: file)).schemeName == "basic")
        #expect(try await search(entry, CredentialFlags(apiKeyFile: file)).schemeName == "api_key")
        #expect(try await search(entry, CredentialFlags(), ["MEDIACTL_PASSWORD": "p"]).schemeName == "basic")
        // The login takes precedence over password_command, netrc and prompt, none of which is used.
        let found = try await search(entry, command: ["/nonexistent"], prompt: "typed")
        #expect(found.schemeName == "bearer" && found.expiresAt == 4_102_444_800 && found.origin == origin)
        #expect(try await search(LoginStore.Entry(), command: ["echo", "p"]).schemeName == "basic")
    }

    @Test func theLoginOfAnotherUserIsNotUsed() async throws {
        let other = Setting(value: "bob@example.org", origin: SettingOrigin.flag)
        let basic = try await search(LoginStore.Entry(login: Self.login), command: ["echo", "p"], user: other)
        #expect(basic.schemeName == "basic" && basic.user == "bob@example.org")
        let required = LoginStore.Entry(login: Self.login, requiresLogin: true)
        let error = await #expect(throws: CredentialError.self) { try await search(required, user: other) }
        #expect(error?.exitCode == 4 && error?.code == .loginRequired)
        #expect(error?.hint == "mediactl login --server https://media.example --user bob@example.org")
        let same = Setting(value: "Ann@Example.org", origin: SettingOrigin.flag)
        #expect(try await search(required, user: same).schemeName == "bearer")
    }

    @Test func anExpiredLoginIsAnError() async throws {
        let login = IssuedLogin(token: "canary-TOKEN", role: nil, email: nil, expiresAt: 1_767_225_600)
        let error = await #expect(throws: CredentialError.self) {
            try await search(LoginStore.Entry(login: login), command: ["echo", "p"], prompt: "typed")
        }
        #expect(error?.exitCode == 4 && error?.code == .loginExpired)
        #expect(error?.message == "the login for https://media.example expired on 2026-01-01T00:00:00Z")
        #expect(error?.hint == "mediactl login --server https://media.example")
    }

    @Test func aServerThatRequiresALoginIsSentNoPassword() async throws {
        let required = LoginStore.Entry(requiresLogin: true)
        let both = LoginStore.Entry(login: Self.login, requiresLogin: true)
        let environment = ["MEDIACTL_PASSWORD": "p", "MEDIACTL_PASSWORD_FILE": "/nonexistent"]
        // The sources of passwords are not even read.
        for flags in [CredentialFlags(passwordFile: "/nonexistent"), CredentialFlags(passwordStdin: true)] {
            for (entry, hint) in [(required, "mediactl login --server https://media.example"), (both, "stored login")] {
                let error = await #expect(throws: CredentialError.self) { try await search(entry, flags) }
                #expect(error?.exitCode == 4 && error?.code == .loginRequired)
                #expect(error?.hint?.contains(hint) == true)
            }
        }
        let error = await #expect(throws: CredentialError.self) {
            try await search(required, CredentialFlags(), environment, command: ["/nonexistent"], prompt: "typed")
        }
        #expect(error?.exitCode == 4 && error?.code == .loginRequired)
        #expect(try await search(both, CredentialFlags(), environment).schemeName == "bearer")
        let key = try await search(required, CredentialFlags(), ["MEDIACTL_API_KEY": "k", "MEDIACTL_PASSWORD": "p"])
        #expect(key.schemeName == "api_key")
    }
}
