internal import Foundation
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// An original, open for reading (rule R14): what is away is told apart from what never will do. Nothing is ever written.
struct ClipOriginal: Sendable {
    /// Why an original cannot be read.
    enum Trouble: Error {
        /// Not now.
        case away(String)
        /// Not now: its file system does not answer.
        case silent
        /// It never will do.
        case unfit(String)
        case cancelled
    }

    let file: SourceFile
    /// Of the content; nil when it was not wanted.
    let digests: FileDigests?

    /// Opens an original, and reads it where its digests are wanted. A file system that does not answer is given up.
    ///
    /// - Parameters:
    ///   - path: Absolute, as bytes.
    ///   - patience: How long one step may take: to open the file, to read a block.
    ///   - wantsDigests: Whether the digests of a file of this status are wanted.
    /// - Throws: `Trouble`, also when the file changes while it is read.
    init(
        _ path: [UInt8],
        patience: Duration = OriginalReading.patience,
        wantsDigests: @escaping @Sendable (FileIdentity) -> Bool = { _ in false }
    ) async throws(Trouble) {
        let read: Result<(SourceFile, FileDigests?), Trouble>
        do {
            read = try await BoundedWork.run(stallLimit: patience) { steps in
                Result { () throws(Trouble) in try Self.read(path, wantsDigests, steps) }
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
    ) throws(Trouble) -> (SourceFile, FileDigests?) {
        let file: SourceFile
        do {
            file = try SourceFile(path: path)
        } catch {
            throw Trouble(error)
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
        guard (try? file.currentStatus()) == file.status else { throw .away("the file changed while it was read") }
        return (file, digests)
    }

    /// Whether the file still is what was opened.
    var isUnchanged: Bool { (try? file.currentStatus()) == file.status }

    /// When it was last modified.
    var modifiedAt: Date { Date(timeIntervalSince1970: Double(file.status.modificationNanoseconds) / 1e9) }

    /// The content for one sending, over a descriptor of its own: the transport closes what it gets.
    func content() throws(Trouble) -> FileContent {
        do {
            return FileContent(owning: try file.duplicateDescriptor(), byteCount: file.status.size)
        } catch {
            throw Trouble(error)
        }
    }
}

extension ClipOriginal.Trouble {
    /// Why a file could not be opened.
    init(_ error: SourceFileError) {
        switch error.kind {
        case .notFound: self = .away("the file is not there")
        case .permissionDenied: self = .away("permission denied")
        case .io(let errno): self = .away(SystemError.words(errno))
        case .isDirectory: self = .unfit("it is a directory")
        case .notRegular: self = .unfit("it is not a regular file")
        case .empty: self = .unfit("the file is empty")
        }
    }
}

/// What a file can be in a tape.
enum ClipMedium {
    /// What the content shows, and where that says nothing, or less than the name, what the name says.
    ///
    /// - Parameters:
    ///   - path: Only its extension matters.
    ///   - prefix: The first bytes of the file; 4 KiB are enough. None for a file that is not there.
    /// - Returns: nil for sound and for what is no medium.
    static func kind(of path: [UInt8], prefix: [UInt8]) -> ClipRecord.Kind? {
        let name = String(decoding: path.nameOfPath, as: UTF8.self)
        if StillPicture.isSniffed(prefix) { return .image }
        let pathExtension = MediaType.pathExtension(of: name)
        // Raw pictures look like many things.
        if StillPicture.isNamed(byExtension: pathExtension) { return .image }
        if videoExtensions.contains(pathExtension.lowercased()) { return .video }
        return MediaType.declared(fileName: name, prefix: prefix)?.kind == .video ? .video : nil
    }

    /// Videos that the servers for recordings do not take.
    private static let videoExtensions: Set = ["3gp", "3g2", "mts", "insv", "qt"]
}

/// Reads originals, never writes them, and waits for no file system for ever (rule R14).
enum OriginalReading {
    /// An original that could be read.
    struct Original: Sendable {
        var status: FileIdentity
        /// nil when they were not wanted.
        var digests: FileDigests?
    }

    /// How long a file system may take for one block.
    static let patience = Duration.seconds(30)

    /// Opens a file and makes its digests in one reading.
    ///
    /// - Parameters:
    ///   - path: Absolute, as bytes.
    ///   - isKnown: Whether the digests of a file of this status are not wanted.
    /// - Returns: nil when it cannot be read to its end, or is not the same before and after.
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

    /// Whether there is a regular file at a path; nil when its file system does not answer.
    ///
    /// - Throws: `TapesError` `.cancelled`.
    static func isPresent(_ path: [UInt8]) async throws(TapesError) -> Bool? {
        try await bounded { _ in FileIdentity(ofRegularFile: path) != nil }
    }

    /// Runs work on a file system; nil when that does not answer.
    ///
    /// - Throws: `TapesError` `.cancelled`.
    static func bounded<Value: Sendable>(
        _ work: @escaping @Sendable (WorkSteps) throws(AlbumError) -> Value
    ) async throws(TapesError) -> Value? {
        do {
            return try await BoundedWork.run(stallLimit: patience, work)
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled) }
            return nil
        }
    }
}

/// Absolute paths, as bytes, that lead where the given ones led.
enum AbsolutePath {
    /// The path from the root of what a user has given.
    ///
    /// `.` and doubled slashes go. `name/..` goes only where `name` is a directory and no link: behind a link `..` is
    /// elsewhere. Nothing else is resolved, so that a link that the user names stays the name of the original.
    ///
    /// - Parameters:
    ///   - path: As given; a relative one starts at the directory.
    ///   - directory: The current directory.
    /// - Returns: The path; a slash at the end stays, as it asks for a directory.
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

    /// The current directory; nil when it was removed.
    static var currentDirectory: [UInt8]? {
        // By a length that the system grows itself.
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }

    private static func joined(_ parts: [[UInt8]]) -> [UInt8] {
        parts.isEmpty ? [UInt8(ascii: "/")] : parts.flatMap { [UInt8(ascii: "/")] + $0 }
    }

    private static func isPlainDirectory(_ path: [UInt8]) -> Bool {
        var status = stat()
        guard !path.contains(0), lstat(path.map(CChar.init(bitPattern:)) + [0], &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }
}
