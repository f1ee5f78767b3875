import CaptureSubmission
import Foundation
import HashCapture
import TestSupport
import Testing

@Suite struct PrivacySettingsTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.file("hash-only.json") }

    init() throws { directory = try TemporaryDirectory() }

    private func put(_ text: String, permissions: Int = 0o600) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }

    /// The error of a file, which must contain its path.
    private func failure(_ path: String) -> CaptureError? {
        do {
            let settings = try PrivacySettings.read(path)
            Issue.record("\(settings) came from \(path)")
            return nil
        } catch {
            #expect(error.code == .settingsUnusable)
            #expect(error.path == Array(path.utf8))
            return error
        }
    }

    static let defaults =
        #"{"privacyModeEnabled":false,"locationLevel":"coarse","timestampLevel":"exact","deviceInfoLevel":"model_only"}"#

    @Test func withoutAFileTheContractsDefaultsApply() throws {
        let settings = try PrivacySettings.read(path)
        #expect(settings == PrivacySettings())
        #expect(settings.json == Self.defaults)
    }

    @Test func everySettingIsReadBackUnchanged() throws {
        for isEnabled in [false, true] {
            for location in LocationLevel.allCases {
                for timestamp in TimestampLevel.allCases {
                    for device in DeviceInfoLevel.allCases {
                        var settings = PrivacySettings()
                        settings.isPrivacyModeEnabled = isEnabled
                        (settings.location, settings.timestamp, settings.deviceInfo) = (location, timestamp, device)
                        try settings.write(to: path)
                        #expect(try PrivacySettings.read(path) == settings)
                    }
                }
            }
        }
    }

    @Test func theStoredFormIsThatOfTheContract() throws {
        try put(
            #"""
            { "deviceInfoLevel": "none", "timestampLevel": "day_only",
              "privacyModeEnabled": true, "locationLevel": "precise" }
            """#
        )
        let settings = try PrivacySettings.read(path)
        #expect(settings.isPrivacyModeEnabled)
        #expect(settings.location == .precise && settings.timestamp == .dayOnly && settings.deviceInfo == .none)
    }

    static let broken: [(text: String, value: String?)] = [
        ("", nil), ("{", nil), ("[]", nil), ("null", nil), ("{}", "privacyModeEnabled"), ("\u{FEFF}" + defaults, nil),
        (defaults + "x", nil), (defaults + defaults, nil),
        (defaults.replacing("coarse", with: "rough"), "rough"),
        (defaults.replacing("coarse", with: "Coarse"), "Coarse"),
        (defaults.replacing("\"coarse\"", with: "1"), nil), (defaults.replacing("\"coarse\"", with: "null"), nil),
        (defaults.replacing("false", with: "\"false\""), nil), (defaults.replacing("false", with: "0"), nil),
        (defaults.replacing("exact", with: "day-only"), "day-only"),
        (defaults.replacing("model_only", with: "all"), "all"),
        (defaults.replacing("locationLevel", with: "location_level"), "location_level"),
        (defaults.replacing("}", with: #","extra":1}"#), "extra"),
        (defaults.replacing("}", with: #","locationLevel":"none"}"#), "locationLevel"),
        (defaults.replacing(#","deviceInfoLevel":"model_only""#, with: ""), "deviceInfoLevel"),
        (String(repeating: " ", count: 70_000) + defaults, nil),
    ]

    @Test(arguments: broken)
    func anyOtherFormIsAnError(text: String, value: String?) throws {
        try put(text)
        let error = try #require(failure(path))
        #expect(error.value == value)
        #expect(!error.detail.isEmpty)
    }

    @Test func bytesThatAreNotTextAreAnError() throws {
        try Data([0xFF, 0xFE] + Array(Self.defaults.utf8)).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(failure(path)?.detail == "it is not UTF-8")
    }

    @Test(arguments: [0o620, 0o602, 0o666])
    func aFileWritableByOthersIsAnError(permissions: Int) throws {
        try put(Self.defaults, permissions: permissions)
        #expect(failure(path)?.value == String(permissions, radix: 8))
    }

    @Test(arguments: [0o400, 0o600, 0o644])
    func aFileReadableByOthersIsAllowed(permissions: Int) throws {
        try put(Self.defaults, permissions: permissions)
        #expect(try PrivacySettings.read(path) == PrivacySettings())
    }

    /// Only root can change the owner of a file.
    @Test(.enabled(if: geteuid() == 0, "changing the owner of a file requires root"))
    func anotherUsersFileIsAnError() throws {
        try put(Self.defaults)
        #expect(chown(path, 12_345, 12_345) == 0)
        #expect(failure(path)?.detail == "it belongs to another user")
    }

    @Test func aDirectoryAFIFOAndADanglingLinkAreErrors() throws {
        #expect(failure(directory.path) != nil)
        let fifo = directory.file("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        #expect(failure(fifo)?.detail == "it is not a regular file")
        let link = directory.file("link")
        #expect(symlink(directory.file("nowhere"), link) == 0)
        #expect(failure(link)?.detail == "it is a dangling symbolic link")
        #expect(throws: CaptureError.self) { try PrivacySettings().write(to: link) }
        let loop = directory.file("loop")
        #expect(symlink(loop, loop) == 0)
        #expect(failure(loop) != nil)
        // A file where a directory should be.
        try put(Self.defaults)
        #expect(failure(path + "/hash-only.json") != nil)
    }

    @Test func aWrittenFileIsPrivateAndComplete() throws {
        let deep = directory.file("a/b/hash-only.json")
        try PrivacySettings().write(to: deep)
        let mode = try FileManager.default.attributesOfItem(atPath: deep)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try String(contentsOfFile: deep, encoding: .utf8) == Self.defaults + "\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.file("a/b")) == ["hash-only.json"])
    }

    /// A process that has the old file open continues to read the old settings: the file is replaced, not
    /// overwritten.
    @Test func writingReplacesTheFile() throws {
        try put(Self.defaults)
        let old = try FileHandle(forReadingFrom: URL(filePath: path))
        // Left by a process that was killed while writing.
        try Data(String(repeating: "x", count: 1_000).utf8).write(
            to: URL(filePath: directory.file(".hash-only.json.new"))
        )
        var settings = PrivacySettings()
        settings.location = .none
        try settings.write(to: path)
        #expect(try old.readToEnd() == Data(Self.defaults.utf8))
        #expect(try PrivacySettings.read(path) == settings)
    }

    @Test func aLinkIsKept() throws {
        try put(Self.defaults)
        let link = directory.file("link")
        #expect(symlink(path, link) == 0)
        var settings = PrivacySettings()
        settings.isPrivacyModeEnabled = true
        try settings.write(to: link)
        #expect(try PrivacySettings.read(path) == settings)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
    }

    @Test func aFileThatCannotBeWrittenIsAnError() throws {
        try put(Self.defaults)
        do {
            try PrivacySettings().write(to: path + "/under-a-file.json")
            Issue.record("it was written")
        } catch {
            #expect(error.code == .targetUnusable)
        }
    }
}
