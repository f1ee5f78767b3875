internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Writes the bytes of a response to the rescue log as they arrive, and keeps them for the parser.
///
/// A failing disk does not stop the transfer: the bytes in memory may still be stored.
final class ReplyCollector: ResponseReceiver {
    /// Larger than any response to an upload, with any surrounding whitespace.
    static let limit = 8 << 20

    private struct State {
        var body: [UInt8] = []
        var rescueError: StoreError?
    }

    private let rescue: RescueRecord
    private let state = Mutex(State())

    init(_ rescue: RescueRecord) {
        self.rescue = rescue
    }

    func begin(_ head: HTTPResponseHead) {
        state.withLock { state in
            state = State()
            attempt(&state) { () throws(StoreError) in try rescue.begin(status: head.status) }
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        let isTooLarge = state.withLock { state in
            let room = Self.limit - state.body.count
            let kept = UnsafeRawBufferPointer(rebasing: bytes.prefix(room))
            state.body.append(contentsOf: kept)
            attempt(&state) { () throws(StoreError) in try rescue.append(kept) }
            return bytes.count > room
        }
        if isTooLarge {
            throw ReplyTooLarge()
        }
    }

    /// Waits until the response is on disk, and returns its bytes.
    func finished() async -> (body: [UInt8], rescueError: StoreError?) {
        let (body, error) = state.withLock { ($0.body, $0.rescueError) }
        guard error == nil else { return (body, error) }
        do {
            try await rescue.synchronize()
            return (body, nil)
        } catch {
            return (body, error)
        }
    }

    private func attempt(_ state: inout State, _ write: () throws(StoreError) -> Void) {
        guard state.rescueError == nil else { return }
        do {
            try write()
        } catch {
            state.rescueError = error
        }
    }
}

struct ReplyTooLarge: Error {}
