import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Unknown names are ignored with a warning, unless they may be misspelled security settings.
@Suite struct UnknownSettingTests {
    @Test(arguments: [
        ("retrys: 3", 1, "retrys", "did you mean: retries"),
        ("user: a\njbos: 3", 2, "jbos", "did you mean: jobs"),
        ("profiles:\n  work:\n    stall-timeout: 3", 3, "profiles.work.stall-timeout", "did you mean: stall_timeout"),
        ("profiles:\n  work:\n    user: a\n    colour: x", 4, "profiles.work.colour", "did you mean: color"),
        ("albums:\n  folder:\n    rot: /x", 3, "albums.folder.rot", "did you mean: albums.folder.root"),
        ("albums.path_mpa: {/a: /b}", 1, "albums.path_mpa", "did you mean: albums.path_map"),
        ("pasword_command: [pass, show, canary]", 1, "pasword_command", "did you mean: password_command"),
        ("xyzzy: canary", 1, "xyzzy", "mediactl config show lists the settings"),
        ("keywords: canary", 1, "keywords", "mediactl config show lists the settings"),
    ])
    func aTypoIsIgnoredWithAWarning(text: String, line: Int, key: String, hint: String) async throws {
        let settings = try await resolve(file: text)
        let warning = try #require(settings.warnings.first)
        #expect(settings.warnings.count == 1)
        #expect((warning.line, warning.key, warning.hint) == (line, key, hint))
        #expect(warning.message.hasSuffix("config.yaml:\(line): \(key): is an unknown setting and is ignored"))
        #expect(!"\(warning)".contains("canary"))
    }

    @Test func validSettingsStillApply() async throws {
        let settings = try await resolve(file: "retries: 7\nretrys: 3\nprofiles:\n  idle:\n    jbos: 2\nuser: me")
        #expect(settings.retries.value == 7 && settings.user?.value == "me")
        // In the order of the file, including those of profiles that are not in use.
        #expect(settings.warnings.map(\.line) == [2, 5])
    }

    /// If ignored, each of these would make a run less safe than configured, or disclose, send or delete something
    /// else.
    @Test(
        arguments: [
            ("pined_key: x", "did you mean: pinned_key"), ("pin: x", "did you mean: pinned_key"), ("tls_pin: x", nil),
            ("ca_cert: x", "did you mean: cacert"), ("cafile: x", nil), ("ca_file: x", nil),
            ("cacrt: x", "did you mean: cacert"),
            ("ssl_verify: true", nil), ("insecur: false", "did you mean: insecure"),
            ("alow_http: false", "did you mean: allow_http"), ("sevrer: x", "did you mean: server"),
            ("upload_url: x", "did you mean: uploads_url"), ("library-url: x", "did you mean: library_url"),
            ("capture_profil: reference", "did you mean: capture_profile"),
            ("album:\n  upload: false", "did you mean: albums"),
            ("albums:\n  uplod: false", "did you mean: albums.upload"),
            ("albums:\n  enable: false", "did you mean: albums.enabled"),
            ("features:\n  deleteAsociatedAlbum: false", "did you mean: features.deleteAssociatedAlbum"),
            ("profils:\n  work:\n    pinned_key: x", "did you mean: profiles"),
            ("vault_key_comand: [a]", "did you mean: vault_key_command"), ("privacy: on", nil),
            ("profiles:\n  work:\n    pined_key: canary", "did you mean: pinned_key"),
        ] as [(String, String?)]
    )
    func possibleSecuritySettingsAreRefused(text: String, hint: String?) async throws {
        let error = try #require(await #expect(throws: SettingsError.self) { try await resolve(file: text) })
        #expect(error.rule == "is an unknown setting; refused, because it may be a misspelled security setting")
        #expect(error.hint == (hint ?? "remove it; mediactl config show lists the settings"))
        #expect(error.line != nil && !"\(error)".contains("canary"))
    }

    /// No existing setting is reported as a typo of another one.
    @Test func everySettingIsKnown() async throws {
        for key in SettingKey.allCases where !key.isBoolean {
            do {
                let result = try await resolve(file: "\(key.rawValue): '1'")
                #expect(result.warnings.isEmpty, "\(key)")
            } catch let error as SettingsError {
                #expect(!error.rule.contains("unknown"), "\(key)")
            }
        }
    }

    @Test(arguments: [
        ("MEDIACTL_RETRYS", "did you mean: MEDIACTL_RETRIES"), ("MEDIACTL_DATADIR", "did you mean: MEDIACTL_DATA_DIR"),
        ("MEDIACTL_PASWORD", "did you mean: MEDIACTL_PASSWORD"),
    ])
    func aMistypedVariableIsIgnoredWithAWarning(name: String, hint: String) async throws {
        let warnings = try await resolve(file: "", environment: [name: "canary"]).warnings
        #expect(warnings.map(\.hint) == [hint])
        #expect(warnings.map(\.message) == ["\(name): is an unknown setting and is ignored"])
    }

    @Test(arguments: ["MEDIACTL_PINED_KEY", "MEDIACTL_CA_CERT", "MEDIACTL_SERVR", "MEDIACTL_ALBUMS_UPLOADS"])
    func aPossibleSecurityVariableIsRefused(name: String) async throws {
        await #expect(throws: SettingsError.self) { try await resolve(file: "", environment: [name: "canary"]) }
    }

    /// Unrelated variables may belong to scripts around mediactl, or to its build.
    @Test func unrelatedVariablesAreIgnored() async throws {
        let environment = [
            "MEDIACTL_RECORD": "1", "MEDIACTL_WARNINGS_AS_ERRORS": "1", "MEDIACTL_XYZZY": "1", "RETRYS": "1",
        ]
        #expect(try await resolve(file: "", environment: environment).warnings.isEmpty)
        #expect(try await resolve(file: "", environment: ["MEDIACTL_RETRYS": ""]).warnings.isEmpty)
    }

    @Test func theProgramWarnsAndContinues() async throws {
        let runner = try BinaryRunner()
        let file = runner.home.file("config.yaml")
        try "retries: 2\nretrys: canary\n".write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await runner.run(["config", "show", "--json", "-q", "--config", file])
        #expect(result.exitCode == 0)
        #expect(
            result.errors == """
                mediactl: warning: \(file):2: retrys: is an unknown setting and is ignored
                mediactl: hint: did you mean: retries

                """
        )
        #expect(result.output.contains(#""name":"retries","value":"2""#) && !result.output.contains("retrys"))
    }
}
