internal import Foundation
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
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
