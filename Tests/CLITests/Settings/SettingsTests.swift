import Foundation
import MediaTransport
import TestSupport
import Testing

@testable import MediaCLI

/// Settings from a file with this text.
func resolve(
    file text: String,
    flags: SettingsFlags = SettingsFlags(),
    environment: [String: String] = [:]
) async throws -> Settings {
    let directory = try TemporaryDirectory()
    let locations = try SettingsLocations(
        environment: ["HOME": directory.path],
        configOverride: try directory.write("config.yaml", text.utf8)
    )
    return try await Settings.resolve(flags: flags, environment: environment, locations: locations)
}

@Suite struct SettingsTests {
    static let file = """
        server: https://global.example
        retries: 1
        stall_timeout: 1m
        profiles:
          work:
            server: https://work.example
            retries: 2
            user: worker
            password_command: [pass, show, canary]
          upload:
            uploads_url: https://up.example:8443
            sync_url: https://sync.example
        """

    @Test func defaultsMatchTheDocumentation() async throws {
        let settings = try await resolve(file: "")
        #expect(settings.connectTimeout.value == .seconds(30))
        #expect(settings.stallTimeout.value == .seconds(60))
        #expect(settings.responseTimeout.value == .seconds(600))
        #expect(settings.finishTimeout.value == .seconds(30))
        #expect(settings.settleTimeout.value == .seconds(330))
        #expect(settings.retries == Setting(value: 3, origin: .builtIn))
        #expect(settings.maxBytes.value == 6_442_450_944)
        #expect(settings.contact.value == "contactgighive@gmail.com")
        #expect(settings.orgName.value == "Band")
        #expect(settings.eventType.value == "band")
        #expect(settings.limitRate.value == nil)
        #expect(!settings.insecure.value && !settings.allowHTTP.value && !settings.http2.value)
    }

    /// One source after the other is removed.
    @Test func theStrongestSourceOfASettingWins() async throws {
        var flags = SettingsFlags([.retries: "4"], profile: "work")
        var environment = ["MEDIACTL_RETRIES": "3"]
        #expect(
            try await resolve(file: Self.file, flags: flags, environment: environment).retries
                == Setting(value: 4, origin: .flag)
        )
        flags[.retries] = nil
        #expect(
            try await resolve(file: Self.file, flags: flags, environment: environment).retries
                == Setting(value: 3, origin: .environment("MEDIACTL_RETRIES"))
        )
        environment = ["MEDIACTL_RETRIES": ""]
        #expect(
            try await resolve(file: Self.file, flags: flags, environment: environment).retries
                == Setting(value: 2, origin: .profile("work"))
        )
        flags.profile = nil
        let settings = try await resolve(file: Self.file, flags: flags)
        #expect(settings.retries.value == 1)
        guard case .settingsFile(let path) = settings.retries.origin else { return #expect(Bool(false)) }
        #expect(path.hasSuffix("/config.yaml"))
        #expect(try await resolve(file: "", flags: flags).retries == Setting(value: 3, origin: .builtIn))
    }

    @Test func everySettingHasAnEnvironmentVariable() async throws {
        let pin = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        var values: [SettingKey: String] = [
            .user: "u", .caFile: "/ca", .pinnedKey: pin, .insecure: "1", .allowHTTP: "yes", .http2: "true",
            .connectTimeout: "1", .stallTimeout: "2", .responseTimeout: "3", .finishTimeout: "4", .settleTimeout: "8",
            .limitRate: "5",
            .retries: "6", .fullInterval: "3d", .maxBytes: "7", .contact: "c@d", .orgName: "O", .eventType: "wedding",
            .color: "never", .jobs: "9", .transport: "tus", .chunkSize: "65536", .captureProfile: "reference",
            .captureRPID: "f",
            .albumsEnabled: "0", .albumsLibrary: "immich", .albumsFolderRoot: "/albums", .albumsUpload: "0",
            .deleteAssociatedAlbum: "1",
        ]
        for (index, key) in SettingKey.addresses.enumerated() { values[key] = "host\(index)" }
        let environment = Dictionary(uniqueKeysWithValues: values.map { ($0.environmentVariable, $1) })
        let rows = try await resolve(file: "", environment: environment).rows
        #expect(rows.count == SettingKey.allCases.count)
        for row in rows {
            let key = try #require(SettingKey(rawValue: row.name))
            let variable =
                key == .deleteAssociatedAlbum
                ? "MEDIACTL_FEATURE_DELETE_ALBUM"
                : "MEDIACTL_" + row.name.replacing(".", with: "_").uppercased()
            #expect(row.origin == .environment(variable))
            let shown = ["1": "true", "yes": "true", "0": "false"][values[key]].flatMap { key.isBoolean ? $0 : nil }
            let duration = row.name.hasSuffix("_timeout") ? "s" : ""
            #expect(row.value == (shown ?? (values[key] ?? "") + duration))
        }
    }

    @Test(
        arguments: [
            (SettingsFlags([.retries: "-1"]), [:], "--retries"),
            (SettingsFlags([.stallTimeout: "soon"]), [:], "--stall-timeout"),
            (SettingsFlags([.caFile: ""]), [:], "--cacert"),
            (SettingsFlags(), ["MEDIACTL_LIMIT_RATE": "fast"], "MEDIACTL_LIMIT_RATE"),
            (SettingsFlags(), ["MEDIACTL_INSECURE": "maybe"], "MEDIACTL_INSECURE"),
            (SettingsFlags(profile: "wrok"), [:], "--profile"),
            (SettingsFlags(), ["MEDIACTL_PROFILE": "nowhere"], "MEDIACTL_PROFILE"),
        ] as [(SettingsFlags, [String: String], String)]
    )
    func errorsIncludeTheSource(flags: SettingsFlags, environment: [String: String], key: String) async throws {
        let error = await #expect(throws: SettingsError.self) {
            try await resolve(file: Self.file, flags: flags, environment: environment)
        }
        #expect(error?.key == key)
    }

    @Test func aMistypedProfileGetsASuggestion() async throws {
        let error = await #expect(throws: SettingsError.self) {
            try await resolve(file: Self.file, flags: SettingsFlags(profile: "wrok"))
        }
        #expect(error?.hint == "did you mean: work")
    }

    /// The address is compared as an origin, not as text.
    @Test(
        arguments: [
            ("https://work.example", "work"), ("work.example", "work"), ("https://WORK.example:443/", "work"),
            ("https://up.example:8443", "upload"), ("https://up.example", nil), ("http://work.example", nil),
        ] as [(String, String?)]
    )
    func theServerInUseSelectsItsProfile(server: String, profile: String?) async throws {
        let settings = try await resolve(file: Self.file, flags: SettingsFlags([.server: server]))
        #expect(settings.profile?.value == profile)
        let byEnvironment = try await resolve(file: Self.file, environment: ["MEDIACTL_SERVER": server])
        #expect(byEnvironment.profile?.value == profile)
    }

    @Test func twoProfilesForOneServerAreAmbiguous() async throws {
        let file = "profiles: {a: {server: x.example}, b: {server: 'https://x.example'}}"
        let error = await #expect(throws: SettingsError.self) {
            try await resolve(file: file, flags: SettingsFlags([.server: "x.example"]))
        }
        #expect(error?.rule.contains("a and b") == true)
        let settings = try await resolve(file: file, flags: SettingsFlags([.server: "x.example"], profile: "b"))
        #expect(settings.profile?.value == "b")
    }

    @Test func aServiceHasItsOwnServer() async throws {
        let settings = try await resolve(file: Self.file, flags: SettingsFlags(profile: "upload"))
        #expect(settings.addresses[.uploadsURL]?.value == "https://up.example:8443")
        #expect(settings.addresses[.syncURL]?.value == "https://sync.example")
        #expect(settings.addresses[.captureURL]?.value == "https://global.example")
        let overridden = try await resolve(
            file: Self.file,
            flags: SettingsFlags([.server: "https://flag.example"], profile: "upload")
        )
        #expect(overridden.addresses[.uploadsURL] == Setting(value: "https://flag.example", origin: .flag))
    }

    /// If the environment's server were used, the photo server's key would be sent to the upload server.
    @Test func theServerOfTheEnvironmentIsNotUsedForAServiceWithItsOwn() async throws {
        let file = "sync_url: https://sync.example\nlibrary_url: https://albums.example"
        let settings = try await resolve(file: file, environment: ["MEDIACTL_SERVER": "https://up.example"])
        #expect(settings.addresses[.syncURL]?.value == "https://sync.example")
        #expect(settings.addresses[.libraryURL]?.value == "https://albums.example")
        #expect(settings.addresses[.uploadsURL]?.value == "https://up.example")
        let named = ["MEDIACTL_SERVER": "https://up.example", "MEDIACTL_SYNC_URL": "https://env.example"]
        #expect(try await resolve(file: file, environment: named).addresses[.syncURL]?.value == "https://env.example")
        // The environment still applies to uploads, and to all services if the file has one server for all.
        let general = "server: https://file.example\nuploads_url: https://file.example"
        let other = try await resolve(file: general, environment: ["MEDIACTL_SERVER": "https://up.example"])
        #expect(other.addresses[.uploadsURL]?.value == "https://up.example")
        #expect(other.addresses[.syncURL]?.value == "https://up.example")
    }

    @Test func aPasswordCommandAppliesOnlyToItsServers() async throws {
        let work = try ServerURL("https://work.example").origin
        let other = try ServerURL("https://other.example").origin
        let settings = try await resolve(
            file: Self.file,
            flags: SettingsFlags([.server: "https://other.example"], profile: "work")
        )
        func command(_ settings: Settings, _ origin: Origin) throws -> Setting<[String]>? {
            try settings.server(origin, of: .uploadsURL).passwordCommand
        }
        #expect(try command(settings, work)?.value == ["pass", "show", "canary"])
        #expect(try command(settings, other) == nil)
        let anywhere = try await resolve(
            file: "profiles: {p: {password_command: [x]}}",
            flags: SettingsFlags([.server: "https://other.example"], profile: "p")
        )
        #expect(try command(anywhere, other)?.origin == .profile("p"))
        #expect(try command(anywhere, work) == nil, "a profile without a server is for the command's server")
    }

    @Test func rowsContainNoSecret() async throws {
        let settings = try await resolve(
            file: Self.file,
            flags: SettingsFlags(profile: "work"),
            environment: ["MEDIACTL_PASSWORD": "canary", "MEDIACTL_API_KEY": "canary"]
        )
        #expect(settings.rows.contains { $0.name == "password_command" && $0.value == "pass ..." })
        #expect(!"\(settings.rows)".contains("canary"))
        #expect(settings.rows.first { $0.name == "stall_timeout" }?.value == "60s")
    }

    @Test func aMissingFileIsAnErrorOnlyIfItWasSpecified() async throws {
        let home = try TemporaryDirectory()
        let implicit = try SettingsLocations(environment: ["HOME": home.path])
        #expect(try await Settings.resolve(flags: SettingsFlags(), environment: [:], locations: implicit).server == nil)
        let named = try SettingsLocations(environment: ["HOME": home.path], configOverride: home.file("absent"))
        let error = await #expect(throws: SettingsError.self) {
            try await Settings.resolve(flags: SettingsFlags(), environment: [:], locations: named)
        }
        #expect(error?.message == "\(home.file("absent")): cannot be read: no such file")
        let directory = try SettingsLocations(environment: ["HOME": home.path], configOverride: home.path)
        await #expect(throws: SettingsError.self) {
            try await Settings.resolve(flags: SettingsFlags(), environment: [:], locations: directory)
        }
    }
}
