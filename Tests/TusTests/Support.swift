import Foundation
import Glibc
import MediaCrypto
import MediaTransport
import Synchronization
import TestSupport
import Tus

/// A tus server of one upload whose every misbehaviour a test decides.
final class TusServer: Sendable {
    /// What it does with a request.
    enum Act: Sendable {
        /// What the protocol asks for.
        case obey
        /// The request is read whole and answered with this; nothing is stored.
        case answer(Int, [String] = [], body: String = "", type: String = "text/plain")
        /// The bytes are stored, and the answer is this one.
        case storeAndAnswer(Int, [String] = [], body: String = "", type: String = "text/plain")
        /// The connection is reset after so many body bytes; they are stored, or not (a firewall that buffers).
        case reset(afterBytes: Int, storing: Bool)
        /// Everything is stored, then the connection closes without an answer.
        case closeUnanswered
    }

    struct Request: Sendable {
        var method: String
        var target: String
        var head: String
        var connection: Int
        var bodyLength: Int

        func header(_ name: String) -> String? {
            let prefix = name.lowercased() + ":"
            return head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(prefix) }
                .map { $0.dropFirst(prefix.count).trimmingCharacters(in: .whitespaces) }
        }
    }

    struct State: Sendable {
        var stored: [UInt8] = []
        var length: Int
        var requests: [Request] = []
    }

    private let state: Mutex<State>
    private let listener: ScriptedServer

    /// - Parameters:
    ///   - length: Length of the upload.
    ///   - stored: What it holds already.
    ///   - beforeLastByte: Called when all bytes of a PATCH but the last have been read.
    ///   - script: What to do with a request, given with its number among those of its method, from 1.
    init(
        length: Int,
        stored: [UInt8] = [],
        beforeLastByte: @escaping @Sendable (Int) -> Void = { _ in },
        script: @escaping @Sendable (Request, Int) -> Act = { _, _ in .obey }
    ) throws {
        let state = TusServer.makeState(length, stored)
        self.state = state.mutex
        let shared = state
        listener = try ScriptedServer { connection, number in
            while true {
                let head = try connection.readHead()
                let words = head.split(separator: " ", maxSplits: 2)
                let request = Request(
                    method: String(words[0]),
                    target: String(words[1]),
                    head: head,
                    connection: number,
                    bodyLength: ScriptedServer.Connection.contentLength(of: head)
                )
                let count = shared.mutex.withLock { state in
                    state.requests.append(request)
                    return state.requests.count { $0.method == request.method }
                }
                let act = script(request, count)
                guard try TusServer.perform(act, request, connection, shared, beforeLastByte) else { return }
            }
        }
    }

    /// A mutex that a closure of the initialiser can hold before `self` exists.
    private final class Shared: Sendable {
        let mutex: Mutex<State>
        init(_ state: State) { mutex = Mutex(state) }
    }
}
