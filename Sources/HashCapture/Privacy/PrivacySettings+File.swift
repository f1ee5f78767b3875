public import CaptureSubmission
internal import Foundation
internal import MediaFiles
internal import MediaSystem

extension PrivacySettings {
    /// Far more than four members take.
    private static let byteLimit = 65_536

    /// The settings of a file, a JSON object with `privacyModeEnabled`, `locationLevel`, `timestampLevel`,
    /// `deviceInfoLevel`; the defaults when there is no file.
    ///
    /// - Parameter path: Links are followed. The file must belong to this user or to root, and nobody else may be able to
    ///   write it: it decides what is told about this user.
    /// - Returns: The settings.
    /// - Throws: `CaptureError` `.settingsUnusable` for a file that cannot be read or is not exactly that: privacy is never
    ///   off by accident.
    public static func read(_ path: String) throws(CaptureError) -> PrivacySettings {
        let file: SourceFile
        do {
            file = try SourceFile(path: Array(path.utf8))
        } catch {
            // A link that leads nowhere is not a file that was never made.
            guard error.kind == .notFound else { throw unusable(path, detail(of: error)) }
            var status = stat()
            guard lstat(path, &status) == 0 else { return PrivacySettings() }
            throw unusable(path, "it is a symbolic link that leads nowhere")
        }
        var status = stat()
        guard fstat(file.descriptor, &status) == 0 else { throw unusable(path, SystemError.words(errno)) }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw unusable(path, "it belongs to another user")
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw unusable(path, "others may write it", value: String(status.st_mode & 0o777, radix: 8))
        }
        let bytes: [UInt8]
        do { bytes = try file.prefix(byteLimit + 1) } catch { throw unusable(path, detail(of: error)) }
        guard bytes.count <= byteLimit else { throw unusable(path, "it is larger than 64 KiB") }
        do { return try PrivacySettings(json: bytes) } catch { throw unusable(path, error.detail, value: error.value) }
    }

    /// Writes the file as a whole, 0600: the new settings or the old ones, never a part. Its directory is made when it is
    /// missing; where the path is a link, the file that it leads to is written.
    ///
    /// - Parameter path: The file.
    /// - Throws: `CaptureError` `.targetUnusable`; `.settingsUnusable` for a link that leads nowhere.
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
        // Held by a lock, so that two processes do not write it at once.
        try WholeFile(in: directory, temporaryName: ".\(name).new", audience: .owner)
            .write(text, as: Array(name.utf8), replacing: true)
    }

    private static func followingLink(_ path: String) throws(CaptureError) -> String {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        guard let resolved = realpath(path, nil) else {
            throw unusable(path, "it is a symbolic link that leads nowhere")
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func unusable(_ path: String, _ detail: String, value: String? = nil) -> CaptureError {
        CaptureError(.settingsUnusable, detail: detail, path: Array(path.utf8), value: value)
    }

    private static func detail(of error: SourceFileError) -> String {
        switch error.kind {
        case .notFound: "there is no such file"
        case .isDirectory: "it is a directory"
        case .notRegular: "it is not a regular file"
        case .empty: "it is empty"
        default: "it cannot be read"
        }
    }
}
