import Testing

@testable import MediaCLI

@Suite struct SettingsLocationsTests {
    @Test func everythingIsBelowHomeByDefault() throws {
        let locations = try SettingsLocations(environment: ["HOME": "/home/a"])
        #expect(locations.configFile == "/home/a/.config/mediactl/config.yaml")
        #expect(!locations.isConfigFileNamed)
        #expect(locations.dataDirectory == "/home/a/.local/share/mediactl")
        #expect(locations.cacheDirectory == "/home/a/.cache/mediactl")
    }

    @Test func theXDGVariablesMoveThem() throws {
        let locations = try SettingsLocations(environment: [
            "HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s",
            "XDG_CACHE_HOME": "/k",
        ])
        #expect(locations.configFile == "/c/mediactl/config.yaml")
        #expect(locations.dataDirectory == "/d/mediactl")
        #expect(locations.cacheDirectory == "/k/mediactl")
    }

    @Test(arguments: ["", "relative", "./here"]) func otherValuesAreIgnored(value: String) throws {
        let locations = try SettingsLocations(environment: [
            "HOME": "/home/a", "XDG_CONFIG_HOME": value, "XDG_DATA_HOME": value, "XDG_STATE_HOME": value,
            "XDG_CACHE_HOME": value,
        ])
        #expect(locations == (try SettingsLocations(environment: ["HOME": "/home/a"])))
    }

    @Test func flagsOverrideVariables() throws {
        let environment = ["HOME": "/home/a", "MEDIACTL_CONFIG": "/e.yaml", "MEDIACTL_DATA_DIR": "/e"]
        let fromEnvironment = try SettingsLocations(environment: environment)
        #expect(fromEnvironment.configFile == "/e.yaml")
        #expect(fromEnvironment.isConfigFileNamed)
        #expect(fromEnvironment.dataDirectory == "/e")
        #expect(fromEnvironment.configFileOrigin == .environment("MEDIACTL_CONFIG"))
        #expect(fromEnvironment.dataDirectoryOrigin == .environment("MEDIACTL_DATA_DIR"))
        let fromFlags = try SettingsLocations(environment: environment, configOverride: "f.yaml", dataOverride: "f")
        #expect(fromFlags.configFile == "f.yaml")
        #expect(fromFlags.dataDirectory == "f")
        #expect(fromFlags.configFileOrigin == .flag && fromFlags.dataDirectoryOrigin == .flag)
    }

    @Test(arguments: [[:], ["HOME": ""], ["HOME": "not/absolute"]])
    func withoutAHomeTheDataDirectoryIsRequired(environment: [String: String]) throws {
        let error = #expect(throws: SettingsError.self) { try SettingsLocations(environment: environment) }
        #expect(error?.hint?.contains("--data-dir") == true)
        let locations = try SettingsLocations(environment: environment, dataOverride: "/d")
        #expect(locations.configFile == "/d/config.yaml")
        #expect(locations.cacheDirectory == "/d/cache")
    }
}
