public import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaSystem
internal import MediaTransport

/// Limits on the data that captures may disclose (hash-only contract section 4).
public struct PrivacySettings: Sendable, Equatable {
    /// Whether full uploads are refused.
    public var isPrivacyModeEnabled = false
    public var location = LocationLevel.coarse
    public var timestamp = TimestampLevel.exact
    public var deviceInfo = DeviceInfoLevel.modelOnly

    /// The contract's defaults.
    public init() {}

    /// The settings as stored in their file and in records.
    public var json: String {
        // No value needs escaping: they are a boolean and the names of levels.
        """
        {"\(Member.privacyMode.rawValue)":\(isPrivacyModeEnabled),"\(Member.location.rawValue)":"\(location.rawValue)",\
        "\(Member.timestamp.rawValue)":"\(timestamp.rawValue)","\(Member.deviceInfo.rawValue)":"\(deviceInfo.rawValue)"}
        """
    }

    enum Member: String, CaseIterable {
        case privacyMode = "privacyModeEnabled"
        case location = "locationLevel"
        case timestamp = "timestampLevel"
        case deviceInfo = "deviceInfoLevel"
    }
}

extension PrivacySettings {
    /// Far more than the four members need.
    private static let byteLimit = 65_536

    /// Reads the settings from a JSON object with `privacyModeEnabled`, `locationLevel`, `timestampLevel` and
    /// `deviceInfoLevel`; returns the defaults if there is no file. Links are followed. The file must be owned by this
    /// user or root and must not be writable by others, since it controls which data about this user is disclosed.
    ///
    /// - Throws: `CaptureError` `.settingsUnusable` for an unreadable or invalid file: privacy must never be disabled
    ///   by accident.
    public static func read(_ path: String) throws(CaptureError) -> PrivacySettings {
        let file: SourceFile
        do {
            file = try SourceFile(path: Array(path.utf8))
        } catch {
            // A dangling link is an error; a missing file is not.
            guard error.kind == .notFound else { throw unusable(path, detail(of: error)) }
            var status = stat()
            guard lstat(path, &status) == 0 else { return PrivacySettings() }
            throw unusable(path, "it is a dangling symbolic link")
        }
        var status = stat()
        guard fstat(file.descriptor, &status) == 0 else { throw unusable(path, SystemError.words(errno)) }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw unusable(path, "it belongs to another user")
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw unusable(path, "other users can write to it", value: String(status.st_mode & 0o777, radix: 8))
        }
        let bytes: [UInt8]
        do { bytes = try file.prefix(byteLimit + 1) } catch { throw unusable(path, detail(of: error)) }
        guard bytes.count <= byteLimit else { throw unusable(path, "it is larger than 64 KiB") }
        do { return try PrivacySettings(json: bytes) } catch { throw unusable(path, error.detail, value: error.value) }
    }

    /// Writes the file atomically, with mode 0600. Creates its directory if missing; if the path is a link, its target
    /// is replaced.
    ///
    /// - Throws: `CaptureError` `.targetUnusable`; `.settingsUnusable` for a dangling link.
    public func write(to path: String) throws(CaptureError) {
        let target = try Self.followingLink(path)
        do {
            try Self.replace(target, with: Array((json + "\n").utf8))
        } catch {
            throw CaptureError(.targetUnusable, detail: error.detail, path: Array(path.utf8))
        }
    }

    private static func replace(_ path: String, with text: [UInt8]) throws(FileWriteError) {
        let url = URL(filePath: path)
        let name = url.lastPathComponent
        let parent = Array(url.deletingLastPathComponent().path.utf8)
        guard let directory = try TargetDirectory.open(parent, creating: true) else { return }
        // The fixed temporary name is locked, so two processes do not write at the same time.
        try WholeFile(in: directory, temporaryName: ".\(name).new", audience: .owner)
            .write(text, as: Array(name.utf8), replacing: true)
    }

    private static func followingLink(_ path: String) throws(CaptureError) -> String {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        guard let resolved = realpath(path, nil) else {
            throw unusable(path, "it is a dangling symbolic link")
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func unusable(_ path: String, _ detail: String, value: String? = nil) -> CaptureError {
        CaptureError(.settingsUnusable, detail: detail, path: Array(path.utf8), value: value)
    }

    private static func detail(of error: SourceFileError) -> String {
        switch error.kind {
        case .notFound: "no such file"
        case .permissionDenied, .io: "it cannot be read"
        case .isDirectory, .notRegular, .empty: error.reason
        }
    }
}

extension PrivacySettings {
    struct Unreadable: Error {
        /// The reason, to be printed after a file's name.
        var detail: String
        var value: String?
    }

    /// Parses the stored form: all four members, each once, and no others. A missing or misspelled member would
    /// otherwise get a default that may disclose more than intended.
    init(json text: [UInt8]) throws(Unreadable) {
        guard String(validating: text, as: UTF8.self) != nil else { throw Unreadable(detail: "it is not UTF-8") }
        var cursor = JSONCursor(text[...])
        guard cursor.kind() == .object else { throw Unreadable(detail: "it is not a JSON object") }
        guard let members = JSONValue.object(in: text[...]) else { throw Unreadable(detail: "it is not JSON") }
        var seen = Set<Member>()
        for (name, value) in members {
            guard let member = Member(rawValue: name) else {
                throw Unreadable(detail: "it has an unknown member", value: name)
            }
            guard seen.insert(member).inserted else {
                throw Unreadable(detail: "it has a duplicate member", value: name)
            }
            try set(member, value)
        }
        if let missing = Member.allCases.first(where: { !seen.contains($0) }) {
            throw Unreadable(detail: "a member is missing", value: missing.rawValue)
        }
    }

    private mutating func set(_ member: Member, _ value: JSONValue) throws(Unreadable) {
        switch member {
        case .privacyMode:
            guard let flag = value.flag else { throw Unreadable(detail: "\(member.rawValue) is not true or false") }
            isPrivacyModeEnabled = flag
        case .location: location = try level(of: member, value)
        case .timestamp: timestamp = try level(of: member, value)
        case .deviceInfo: deviceInfo = try level(of: member, value)
        }
    }

    private func level<Level: RawRepresentable<String> & CaseIterable>(
        of member: Member,
        _ value: JSONValue
    ) throws(Unreadable) -> Level {
        guard let text = value.text else { throw Unreadable(detail: "\(member.rawValue) is not a string") }
        guard let level = Level(rawValue: text) else {
            let known = Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw Unreadable(detail: "\(member.rawValue) is not one of \(known)", value: text)
        }
        return level
    }
}
