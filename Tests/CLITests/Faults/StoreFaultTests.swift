import Foundation
import MediaStore
import TestSupport
import Testing

/// A store that cannot keep a token is detected before anything is sent: exit code 12, and no request.
@Suite struct StoreFaultTests {
    /// Bytes 60 to 63 of an SQLite file are its user version (https://www.sqlite.org/fileformat.html section 1.3).
    private static let versionOffset: UInt64 = 60

    /// An environment whose store has one token.
    private static func usedFixture(_ server: String) throws -> FaultFixture {
        let fixture = try FaultFixture(server)
        #expect(try fixture.store().add([JSONSchemaTests.entry]) == [.added])
        return fixture
    }

    private static func database(_ fixture: FaultFixture) -> URL {
        URL(fileURLWithPath: fixture.dataDirectory + "/tokens.sqlite")
    }

    private static func overwrite(_ file: URL, _ offset: UInt64, _ bytes: [UInt8]) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.seek(toOffset: offset)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }

    /// Damage to a store, and how it is reported.
    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let message: String
        let hint: String
        let make: @Sendable (URL) throws -> Void
    }

    static let damages = [
        Damage(
            testDescription: "written by a newer version",
            message: "was written by a newer version",
            hint: "update mediactl"
        ) {
            try overwrite($0, versionOffset, [0, 0, 0, 99])
        },
        Damage(testDescription: "overwritten", message: "is not a usable token store", hint: "nothing was changed") {
            try overwrite($0, 0, Array("this is not a database".utf8))
        },
        Damage(testDescription: "empty", message: "is not a usable token store", hint: "nothing was changed") {
            try Data().write(to: $0)
        },
    ]

    @Test(arguments: damages)
    func storeIsRefusedAndNeverRecreated(_ damage: Damage) async throws {
        let site = try ScriptedSite()
        let fixture = try Self.usedFixture(site.address)
        let database = Self.database(fixture)
        try damage.make(database)
        let before = try Data(contentsOf: database)
        let upload = try await fixture.upload()
        upload.expect(ExpectedFault(12, "store_unusable", damage.message, hint: damage.hint))
        let list = FaultReport(try await fixture.runner.run(["uploads", "list", "--json"]))
        list.expect(ExpectedFault(12, "store_unusable", damage.message, hint: "--data-dir DIR"))
        #expect(site.connections == 0)
        #expect(try Data(contentsOf: database) == before)
    }

    @Test func loosenedPermissionsAreTightened() async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try Self.usedFixture(sandbox.baseURL)
        let database = Self.database(fixture).path
        #expect(chmod(fixture.dataDirectory, 0o755) == 0)
        #expect(chmod(database, 0o644) == 0)
        let report = try await fixture.upload()
        report.expectSuccess("done")
        #expect(report.result.errors.contains("mediactl: warning: "))
        let mode = { (path: String) in
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(fixture.dataDirectory) == 0o700)
        #expect(try mode(database) == 0o600)
        #expect(try fixture.tokens().count == 2)
    }

    /// The data directory may contain files that this program did not create.
    @Test(arguments: ["", "no response", String(repeating: "\0", count: 20_000)])
    func rescueFileWithoutAnUpload(_ content: String) async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try Self.usedFixture(sandbox.baseURL)
        let path = fixture.dataDirectory + "/rescue-u-0123456789abcdef-x"
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        let report = try await fixture.upload()
        report.expectSuccess("done")
        #expect(try fixture.tokens().count == 2)
    }

    @Test func databaseThatIsADirectory() async throws {
        let site = try ScriptedSite()
        let fixture = try FaultFixture(site.address)
        try makeDirectory(Self.database(fixture).path)
        let report = try await fixture.upload()
        report.expect(ExpectedFault(12, "store_unusable", "tokens.sqlite", hint: "--data-dir DIR"))
        #expect(site.connections == 0)
    }

    @Test func readOnlyDirectoryIsFoundBeforeSending() async throws {
        let site = try ScriptedSite()
        var fixture = try Self.usedFixture(site.address)
        #expect(chmod(Self.database(fixture).path, 0o400) == 0)
        #expect(chmod(fixture.dataDirectory, 0o500) == 0)
        defer { chmod(fixture.dataDirectory, 0o700) }
        let report = try await fixture.uploadWithoutPrivileges()
        report.expect(ExpectedFault(12, "store_unusable", "cannot use", hint: "check its permissions"))
        #expect(site.connections == 0)
    }

    /// SQLite reports neither the file nor its owner.
    @Test(arguments: ["-wal", "-shm"]) func aReadOnlyLogIsReportedWithItsOwner(companion: String) async throws {
        let site = try ScriptedSite()
        var fixture = try Self.usedFixture(site.address)
        let path = Self.database(fixture).path + companion
        // While another connection exists, SQLite does not remove these files.
        let store = try fixture.store()
        #expect(try !store.isEmpty() && chmod(path, 0o400) == 0)
        let report = try await fixture.uploadWithoutPrivileges()
        withExtendedLifetime(store) {}
        let owner = "check its permissions (owner \(NSUserName()), mode 0400)"
        report.expect(ExpectedFault(12, "store_unusable", "tokens.sqlite\(companion)\"", hint: owner))
        #expect(site.connections == 0)
    }

    /// If there is a store, the disk has room for it, but not for one more upload.
    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement), arguments: [false, true])
    func fullDiskIsFoundBeforeSending(hasStore: Bool) async throws {
        let site = try ScriptedSite()
        let fixture = try FaultFixture(site.address)
        let disk = try SmallDisk(kibibytes: 512)
        let store = ["--data-dir", disk.path + "/store"]
        if hasStore { #expect(try await fixture.runner.run(["uploads", "list"] + store).exitCode == 0) }
        try disk.fill()
        let report = try await fixture.upload(store)
        report.expect(ExpectedFault(12, "store_unusable", "no space left", hint: "free some space"))
        #expect(site.connections == 0)
        try disk.empty()
        if hasStore { #expect(try await fixture.runner.run(["uploads", "list"] + store).exitCode == 0) }
    }
}
