internal import Foundation
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// An original, open for reading (rule R14). Temporary failures are distinguished from permanent ones.
struct ClipOriginal: Sendable {
    enum Failure: Error {
        /// Temporarily unavailable.
        case away(String)
        /// Temporarily unavailable: its file system does not respond.
        case silent
        /// Permanently unsuitable.
        case unfit(String)
        case cancelled
    }

    let file: SourceFile
    /// nil if not requested.
    let digests: FileDigests?

    /// Opens an original, and computes its digests if requested. Throws if its file system does not respond. `path` is
    /// absolute; `stepLimit` limits each step: opening the file, reading a block.
    ///
    /// - Throws: `Failure`, including if the file changes while it is read.
    init(
        _ path: [UInt8],
        stepLimit: Duration = OriginalReading.stepLimit,
        wantsDigests: @escaping @Sendable (FileIdentity) -> Bool = { _ in false }
    ) async throws(Failure) {
        let read: Result<(SourceFile, FileDigests?), Failure>
        do {
            read = try await BoundedWork.run(stallLimit: stepLimit) { steps in
                Result { () throws(Failure) in try Self.read(path, wantsDigests, steps) }
            }
        } catch {
            throw error.kind == .cancelled ? .cancelled : .silent
        }
        (file, digests) = try read.get()
    }

    private static func read(
        _ path: [UInt8],
        _ wantsDigests: (FileIdentity) -> Bool,
        _ steps: WorkSteps
    ) throws(Failure) -> (SourceFile, FileDigests?) {
        let file: SourceFile
        do {
            file = try SourceFile(path: path)
        } catch {
            throw Failure(error)
        }
        guard wantsDigests(file.status) else { return (file, nil) }
        let digests: FileDigests
        do {
            digests = try FileDigests(ofFile: file.descriptor, byteCount: file.status.size) { try steps.next() }
        } catch is AlbumError {
            throw .cancelled
        } catch {
            throw .away("\(error)")
        }
        guard (try? file.currentStatus()) == file.status else {
            throw .away("the file changed while it was being read")
        }
        return (file, digests)
    }

    var isUnchanged: Bool { (try? file.currentStatus()) == file.status }

    var modifiedAt: Date { Date(timeIntervalSince1970: Double(file.status.modificationNanoseconds) / 1e9) }

    /// The content for one upload, with a separate descriptor, since the transport closes it.
    func content() throws(Failure) -> FileContent {
        do {
            return FileContent(owning: try file.duplicateDescriptor(), byteCount: file.status.size)
        } catch {
            throw Failure(error)
        }
    }
}

extension ClipOriginal.Failure {
    init(_ error: SourceFileError) {
        switch error.kind {
        case .notFound, .permissionDenied, .io: self = .away(error.reason)
        case .isDirectory, .notRegular: self = .unfit(error.reason)
        case .empty: self = .unfit("the file is empty")
        }
    }
}

enum ClipMedium {
    /// The kind of a file, determined by its content, or by its name if the content is unknown or less specific. The
    /// first 4 KiB of the file are sufficient; the prefix of a missing file is empty. nil for audio and for non-media
    /// files.
    static func kind(of path: [UInt8], prefix: [UInt8]) -> ClipRecord.Kind? {
        let name = String(decoding: path.nameOfPath, as: UTF8.self)
        if StillImage.isSniffed(prefix) { return .image }
        let pathExtension = MediaType.pathExtension(of: name)
        // The content of raw images resembles other formats.
        if StillImage.isNamed(byExtension: pathExtension) { return .image }
        if videoExtensions.contains(pathExtension.lowercased()) { return .video }
        return MediaType.declared(fileName: name, prefix: prefix)?.kind == .video ? .video : nil
    }

    /// Extensions of videos that upload servers do not accept.
    private static let videoExtensions: Set = ["3gp", "3g2", "mts", "insv", "qt"]
}

/// Reads originals without waiting indefinitely for a file system (rule R14).
package enum OriginalReading {
    struct Original: Sendable {
        var status: FileIdentity
        /// nil if not requested.
        var digests: FileDigests?
    }

    /// Maximum duration of reading one block.
    static let stepLimit = Duration.seconds(30)

    /// Opens a file and computes its digests in one read, unless they are known for its status. Returns nil if the file
    /// cannot be read completely, or changes while it is read.
    ///
    /// - Throws: `TapesError` `.cancelled`.
    static func read(
        _ path: [UInt8],
        unless isKnown: @escaping @Sendable (FileIdentity) -> Bool = { _ in false }
    ) async throws(TapesError) -> Original? {
        do {
            let original = try await ClipOriginal(path) { !isKnown($0) }
            return Original(status: original.file.status, digests: original.digests)
        } catch .cancelled {
            throw TapesError(.cancelled)
        } catch {
            return nil
        }
    }

    /// The paths without a regular file. If the file system of a directory does not respond, all paths in it count as
    /// present. `silent` contains the directories that are known not to respond; if nil, they are determined.
    ///
    /// - Throws: `.cancelled`.
    package static func missing(
        among paths: [[UInt8]],
        except silent: SilentDirectories? = nil
    ) async throws(TapesError) -> Set<[UInt8]> {
        let known: SilentDirectories
        if let silent { known = silent } else { known = try await SilentDirectories(of: paths) }
        let responding = Set(paths.filter { !known.contains($0) })
        var missing: Set<[UInt8]> = []
        for group in Dictionary(grouping: responding, by: { $0.directoryOfPath }).values {
            let found = try await bounded { steps throws(AlbumError) in
                var found: [[UInt8]] = []
                for path in group {
                    try steps.next()
                    if FileIdentity(ofRegularFile: path) == nil { found.append(path) }
                }
                return found
            }
            missing.formUnion(found ?? [])
        }
        return missing
    }

    /// IDs of the clips whose originals do not match their checksums. Reads only files whose length is unchanged but
    /// whose time differs. Clips without checksums and files that cannot be read are skipped; if a file system does not
    /// respond, the other files in the directory are skipped as well.
    ///
    /// - Throws: `.cancelled`.
    static func changed(among clips: [ClipRecord]) async throws(TapesError) -> Set<String> {
        var changed: Set<String> = []
        var silent = try await SilentDirectories(of: clips.filter(\.isIdentified).compactMap(\.source)).paths
        for clip in clips where clip.isIdentified {
            guard let source = clip.source, !silent.contains(source.directoryOfPath) else { continue }
            do {
                let original = try await ClipOriginal(source) { $0.size == clip.size && !clip.isUnchanged($0) }
                let isSame = original.digests.map { clip.isMade(of: $0) } ?? (original.file.status.size == clip.size)
                if !isSame { changed.insert(clip.id) }
            } catch .cancelled {
                throw TapesError(.cancelled)
            } catch .silent {
                silent.insert(source.directoryOfPath)
            } catch .unfit {
                changed.insert(clip.id)
            } catch {
                continue
            }
        }
        return changed
    }

    /// Runs work on a file system; nil if the file system does not respond. `limit` applies to each step.
    ///
    /// - Throws: `.cancelled`.
    static func bounded<Value: Sendable>(
        within limit: Duration = stepLimit,
        _ work: @escaping @Sendable (WorkSteps) throws(AlbumError) -> Value
    ) async throws(TapesError) -> Value? {
        do {
            return try await BoundedWork.run(stallLimit: limit, work)
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled) }
            return nil
        }
    }
}

/// Absolute equivalents of paths, as bytes.
enum AbsolutePath {
    /// The absolute form of a path. `.` and repeated slashes are removed. `name/..` is removed only if `name` is a
    /// directory and not a link, since `..` after a link leads elsewhere. Nothing else is resolved, so a link specified
    /// by the user remains the path of the original. A trailing slash is kept, since it requires a directory.
    static func of(_ path: [UInt8], in directory: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        let whole = path.first == slash ? path : directory + [slash] + path
        var kept: [[UInt8]] = []
        for part in whole.split(separator: slash).map(Array.init) {
            switch part {
            case [UInt8(ascii: ".")]:
                continue
            case [UInt8(ascii: "."), UInt8(ascii: ".")]:
                // The root is its own parent.
                if kept.isEmpty { continue }
                if isPlainDirectory(joined(kept)) {
                    kept.removeLast()
                } else {
                    kept.append(part)
                }
            default:
                kept.append(part)
            }
        }
        let isDirectoryWanted = whole.last == slash && !kept.isEmpty
        return joined(kept) + (isDirectoryWanted ? [slash] : [])
    }

    private static func joined(_ parts: [[UInt8]]) -> [UInt8] {
        parts.isEmpty ? [UInt8(ascii: "/")] : parts.flatMap { [UInt8(ascii: "/")] + $0 }
    }

    private static func isPlainDirectory(_ path: [UInt8]) -> Bool {
        var status = stat()
        guard !path.contains(0), lstat(path.cString, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }
}
