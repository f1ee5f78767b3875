internal import Foundation
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
internal import MediaTransport
internal import Synchronization

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

    /// How long a file system may take to open a file.
    static let patience = Duration.seconds(30)

    let file: SourceFile

    /// Opens an original; a file system that does not answer is given up after a while.
    static func open(_ path: [UInt8], patience: Duration = patience) async throws(Trouble) -> ClipOriginal {
        let opened = await PatientWork.run(upTo: patience) {
            Result { () throws(SourceFileError) in try SourceFile(path: path) }
        }
        if Task.isCancelled { throw .cancelled }
        guard let opened else { throw .silent }
        do {
            return ClipOriginal(file: try opened.get())
        } catch {
            throw Trouble(error)
        }
    }

    /// SHA-1 of the content, 20 bytes; reads all of it.
    func sha1() async throws(Trouble) -> [UInt8] {
        let digest: [UInt8]
        do {
            digest = try await DigestAlgorithm.sha1.digest(ofFile: file.descriptor, byteCount: file.status.size)
        } catch is CancellationError {
            throw .cancelled
        } catch {
            throw .away("\(error)")
        }
        guard isUnchanged else { throw .away("the file changed while it was read") }
        return digest
    }

    /// Whether the file still is what was opened.
    var isUnchanged: Bool { (try? file.currentStatus()) == file.status }

    /// When it was last modified.
    var modifiedAt: Date { Date(timeIntervalSince1970: Double(file.status.modificationNanoseconds) / 1e9) }

    /// The content for one sending, over a descriptor of its own: the transport closes what it gets.
    func content() throws(Trouble) -> FileContent {
        let copy = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw .away(String(cString: strerror(errno))) }
        return FileContent(owning: copy, byteCount: file.status.size)
    }
}

extension ClipOriginal.Trouble {
    /// Why a file could not be opened.
    init(_ error: SourceFileError) {
        switch error.kind {
        case .notFound: self = .away("the file is not there")
        case .permissionDenied: self = .away("permission denied")
        case .io(let errno): self = .away(String(cString: strerror(errno)))
        case .isDirectory: self = .unfit("it is a directory")
        case .notRegular: self = .unfit("it is not a regular file")
        case .empty: self = .unfit("the file is empty")
        }
    }
}

/// Work that may wait for a disk for ever, given up after a while; the thread stays until the disk answers.
enum PatientWork {
    /// Runs `work` on a thread that may wait.
    ///
    /// - Parameters:
    ///   - limit: How long its result is waited for.
    ///   - work: What to do; its result is dropped when it comes too late.
    /// - Returns: The result; nil when the limit has passed, or the task was cancelled.
    static func run<Value: Sendable>(
        upTo limit: Duration,
        _ work: @escaping @Sendable () -> Value
    ) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            let waiting = Waiting<Value>()
            group.addTask { await waiting.value(of: work) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            waiting.giveUp()
            group.cancelAll()
            return first
        }
    }

    /// Somebody who waits, until there is a value or no patience.
    private final class Waiting<Value: Sendable>: Sendable {
        private enum State {
            case idle
            case waiting(CheckedContinuation<Value?, Never>)
            case over
        }

        private let state = Mutex(State.idle)

        func value(of work: @escaping @Sendable () -> Value) async -> Value? {
            await withCheckedContinuation { continuation in
                let begins = state.withLock { state in
                    guard case .idle = state else { return false }
                    state = .waiting(continuation)
                    return true
                }
                guard begins else { return continuation.resume(returning: nil) }
                Task {
                    let value = await BlockingWork.run(work)
                    self.end(with: value)
                }
            }
        }

        func giveUp() { end(with: nil) }

        private func end(with value: Value?) {
            let continuation: CheckedContinuation<Value?, Never>? = state.withLock { state in
                defer { state = .over }
                if case .waiting(let continuation) = state { return continuation }
                return nil
            }
            continuation?.resume(returning: value)
        }
    }
}
