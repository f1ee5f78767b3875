import MediaTransport
import Testing

@testable import MediaCLI

/// Settings of one server are not used for another.
@Suite struct ServerSettingsTests {
    static let (a, b) = ("https://a.example", "https://b.example")
    static let pin = "sha256//" + String(repeating: "A", count: 43) + "="

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var flags: SettingsFlags
        var environment: [String: String]
        var file: String
        /// Whether flags, environment, user, password command, pin and `allow_http` apply to A, and to B.
        var isForA: [Bool]
        var isForB: [Bool]

        var testDescription: String { name }

        /// `a` and `b` have an asterisk for each value that applies, in the order of `isForA`.
        init(
            _ name: String,
            _ flags: SettingsFlags = SettingsFlags(),
            environment: [String: String] = [:],
            file: String = "",
            a: String,
            b: String = "------"
        ) {
            (self.name, self.flags, self.environment, self.file) = (name, flags, environment, file)
            (isForA, isForB) = (a.map { $0 == "*" }, b.map { $0 == "*" })
        }
    }

    static let all = SettingsFlags([.user: "u", .pinnedKey: pin, .insecure: "true", .allowHTTP: "true"])

    static func flags(server: String? = nil, profile: String? = nil) -> SettingsFlags {
        var flags = all
        flags[.server] = server
        flags.profile = profile
        return flags
    }

    static let section = "user: u, password_command: [x], pinned_key: '\(pin)', insecure: true, allow_http: true"
    static let variables = [
        "MEDIACTL_USER": "u", "MEDIACTL_PINNED_KEY": pin, "MEDIACTL_INSECURE": "true", "MEDIACTL_ALLOW_HTTP": "true",
    ]

    @Test(arguments: [
        Case("flags are for --server", flags(server: a), a: "***-**"),
        Case("flags are for the configured server", flags(), file: "server: \(a)", a: "***-**"),
        Case("without any server, flags and environment are for none", flags(), environment: variables, a: "------"),
        Case(
            "the environment is for MEDIACTL_SERVER",
            environment: variables.merging(["MEDIACTL_SERVER": a]) { $1 },
            a: "***-**"
        ),
        Case(
            "as above, although --server is another",
            SettingsFlags([.server: b]),
            environment: variables.merging(["MEDIACTL_SERVER": a]) { $1 },
            a: "-**-**",
            b: "*-----"
        ),
        Case(
            "the environment is for --server if it sets no server",
            SettingsFlags([.server: a]),
            environment: variables,
            a: "***-**"
        ),
        Case(
            "the environment is for the profile's server if it sets none",
            SettingsFlags(profile: "p"),
            environment: variables,
            file: "profiles: {p: {server: '\(a)'}}",
            a: "***-**"
        ),
        Case(
            "a profile is for its own server",
            SettingsFlags([.server: b], profile: "p"),
            file: "profiles: {p: {server: '\(a)', \(section)}}",
            a: "--****",
            b: "**----"
        ),
        Case(
            "a profile that is not in use is for its own server",
            SettingsFlags([.server: b]),
            file: "profiles: {p: {uploads_url: '\(a)', \(section)}, q: {server: 'https://c.example', \(section)}}",
            a: "--****",
            b: "**----"
        ),
        Case(
            "the top level of the settings file is for its own server",
            SettingsFlags([.server: b]),
            file: "{server: '\(a)', \(section)}",
            a: "--****",
            b: "**----"
        ),
    ])
    func eachSourceIsForItsOwnServers(_ each: Case) async throws {
        let settings = try await resolve(file: each.file, flags: each.flags, environment: each.environment)
        for (address, expected) in [(Self.a, each.isForA), (Self.b, each.isForB)] {
            let server = try settings.server(ServerURL(address).origin, of: .uploadsURL)
            let found = [
                server.isTarget, server.takesEnvironment, server.user != nil, server.passwordCommand != nil,
                server.pinnedKey != nil && server.insecure.value, server.allowHTTP.value,
            ]
            #expect(found == expected, "\(address)")
        }
    }

    /// The API key of one service is not used for another.
    @Test func theEnvironmentIsForTheServerOfItsService() async throws {
        let environment = ["MEDIACTL_SERVER": Self.a, "MEDIACTL_SYNC_URL": Self.b]
        let settings = try await resolve(file: "", environment: environment)
        func takes(_ address: String, _ service: SettingKey) throws -> Bool {
            try settings.server(ServerURL(address).origin, of: service).takesEnvironment
        }
        #expect(try takes(Self.a, .uploadsURL) && !takes(Self.b, .uploadsURL))
        #expect(try takes(Self.b, .syncURL) && !takes(Self.a, .syncURL))
        #expect(try takes(Self.a, .libraryURL) && !takes(Self.b, .libraryURL))
        let file = "library_url: \(Self.b)"
        let other = try await resolve(file: file, environment: ["MEDIACTL_SERVER": Self.a])
        #expect(try !other.server(ServerURL(Self.b).origin, of: .libraryURL).takesEnvironment)
    }

    /// Each type of server in `OutcomeTable.servers` that has a setting is a service.
    @Test(arguments: SettingKey.services) func everyServiceHasItsOwnServer(_ service: SettingKey) async throws {
        let environment = ["MEDIACTL_SERVER": Self.a, service.environmentVariable: Self.b]
        let settings = try await resolve(file: "", environment: environment)
        #expect(settings.addresses[service]?.value == Self.b)
        let (a, b) = (try ServerURL(Self.a).origin, try ServerURL(Self.b).origin)
        #expect(try settings.server(b, of: service).takesEnvironment)
        #expect(try !settings.server(a, of: service).takesEnvironment)
        for other in SettingKey.services where other != service {
            #expect(try settings.server(a, of: other).takesEnvironment, "\(other)")
            #expect(try !settings.server(b, of: other).takesEnvironment, "\(other)")
        }
        // A profile with the server's address is used for that server.
        let profiles = "profiles: {p: {\(service.rawValue): '\(Self.b)', user: u}, q: {server: '\(Self.a)'}}"
        let selected = try await resolve(file: profiles, environment: [service.environmentVariable: Self.b])
        #expect(selected.profile?.value == "p" && selected.user?.value == "u")
        // A misspelled address is refused: the command would run against a different server.
        await #expect(throws: SettingsError.self) {
            try await resolve(file: "\(service.rawValue)s: '\(Self.b)'")
        }
    }

    @Test func anotherPortOrSchemeIsAnotherServer() async throws {
        let settings = try await resolve(file: "", flags: Self.flags(server: Self.a))
        for address in ["https://a.example:8443", "http://a.example"] {
            #expect(try !settings.server(ServerURL(address).origin, of: .uploadsURL).isTarget)
        }
    }

    /// A server in a link on the command line gets the options from the command line.
    @Test func aServerThatTheCommandSpecifiesTakesItsFlags() async throws {
        let settings = try await resolve(file: "", flags: Self.all)
        let origin = try ServerURL(Self.b).origin
        #expect(try settings.server(origin, of: .uploadsURL, named: [origin]).insecure.value)
    }

    @Test func authoritiesWithoutAServerApplyToAll() async throws {
        let general = try await resolve(file: "cacert: /ca.pem")
        #expect(try general.server(ServerURL(Self.b).origin, of: .uploadsURL).caFile?.value == "/ca.pem")
        let own = try await resolve(file: "{server: '\(Self.a)', cacert: /ca.pem}")
        #expect(try own.server(ServerURL(Self.b).origin, of: .uploadsURL).caFile == nil)
    }

    @Test func twoProfilesOfAnotherServerAreRefused() async throws {
        let file = "profiles: {p: {server: '\(Self.b)'}, q: {server: '\(Self.b)'}}"
        let settings = try await resolve(file: file, flags: SettingsFlags([.server: Self.a]))
        let error = #expect(throws: SettingsError.self) {
            try settings.server(ServerURL(Self.b).origin, of: .uploadsURL)
        }
        #expect(error?.message.contains("p and q") == true)
    }

    // MARK: The default profile

    @Test(
        arguments: [
            ("profiles: {p: {server: '\(a)'}}", "p"),
            ("profiles: {p: {jobs: 2}}", nil),
            ("profiles: {p: {server: '\(a)'}, q: {server: '\(b)'}}", nil),
            ("{default_profile: q, profiles: {p: {server: '\(a)'}, q: {server: '\(b)'}}}", "q"),
            ("{server: '\(b)', profiles: {p: {server: '\(a)'}}}", nil),
            ("{server: '\(b)', default_profile: p, profiles: {p: {server: '\(a)'}}}", "p"),
        ] as [(String, String?)]
    )
    func oneProfileIsEnough(file: String, expected: String?) async throws {
        #expect(try await resolve(file: file).profile?.value == expected)
    }

    @Test func aSpecifiedServerTakesPrecedenceOverTheDefaultProfile() async throws {
        let file = "{default_profile: p, profiles: {p: {server: '\(Self.a)', user: u}}}"
        let flagged = try await resolve(file: file, flags: SettingsFlags([.server: Self.b]))
        #expect(flagged.profile == nil && flagged.user == nil && flagged.addresses[.uploadsURL]?.value == Self.b)
        let inEnvironment = try await resolve(file: file, environment: ["MEDIACTL_SERVER": Self.b])
        #expect(inEnvironment.profile == nil)
    }

    @Test(arguments: ["default_profile: q", "{default_profile: q, profiles: {p: {}}}", "default_profile: [p]"])
    func anUnknownDefaultProfileIsAnError(file: String) async throws {
        let error = await #expect(throws: SettingsError.self) {
            try await resolve(file: file, flags: SettingsFlags([.server: Self.a]))
        }
        #expect(error?.message.contains("default_profile") == true)
    }
}
