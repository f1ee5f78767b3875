import Foundation
import MediaCrypto
import PhotoSync
import Synchronization
import TestSupport

/// A server that responds to the first upload at once, and to the others when a whole group of them has arrived. It
/// may omit uploads from the listing.
final class MeetingServer: Sendable {
    private struct State {
        var hashes: [String] = []
        var waiting: [DispatchSemaphore] = []
        var running = 0
        var most = 0
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private let shared: Shared
    private let server: RecordingServer

    /// - Parameters:
    ///   - size: Uploads per group.
    ///   - hidden: Indexes of uploads, from 0, that neither the listing nor the count includes.
    /// - Throws: `ScriptError` if no port is available.
    init(groups size: Int, hiding hidden: Set<Int> = []) throws {
        let shared = Shared()
        self.shared = shared
        server = try RecordingServer { request, _ in
            switch request.line {
            case "POST /api/photos/upload": Self.upload(request, shared, size)
            case "POST /api/photos/check": RecordingServer.Response(body: Self.missing(request))
            case "POST /api/sync/photos": RecordingServer.Response(body: Self.listing(shared, hidden))
            default: RecordingServer.Response(body: Self.status(shared, hidden))
            }
        }
    }

    /// Maximum number of concurrent uploads.
    var mostAtATime: Int { shared.state.withLock { $0.most } }

    func client() throws -> PhotoSyncClient { try server.client() }

    private static func upload(
        _ request: RecordingServer.Request,
        _ shared: Shared,
        _ size: Int
    ) -> RecordingServer.Response {
        let gate = DispatchSemaphore(value: 0)
        let number = shared.state.withLock { state in
            state.running += 1
            state.most = max(state.most, state.running)
            state.hashes.append(hash(of: request))
            state.waiting.append(gate)
            if state.hashes.count == 1 || state.waiting.count == size {
                for gate in state.waiting { gate.signal() }
                state.waiting = []
            }
            return state.hashes.count - 1
        }
        _ = gate.wait(timeout: .now() + 20)
        shared.state.withLock { $0.running -= 1 }
        return RecordingServer.Response(
            body: """
                {"id":"\(id(number))","storedPath":"2024/01/a.jpg","uploadedAt":"2024-01-01T00:00:00Z","isDuplicate":false}
                """
        )
    }

    /// The hash of the last part, that is, of the bytes between its empty line and the closing boundary.
    private static func hash(of request: RecordingServer.Request) -> String {
        let boundary = request.values(of: "content-type").first?.components(separatedBy: "boundary=").last ?? ""
        let end = Array("\r\n--\(boundary)--".utf8)
        let start = Array("\r\n\r\n".utf8)
        guard let close = request.body.firstRange(of: end),
            let open = request.body[..<close.lowerBound].ranges(of: start).last,
            var hasher = try? SHA256Hasher()
        else { return "" }
        request.body[open.upperBound..<close.lowerBound].withUnsafeBytes { hasher.update($0) }
        return (try? hasher.snapshot().hex) ?? ""
    }

    private static func missing(_ request: RecordingServer.Request) -> String {
        let hashes = (request.json?["hashes"] as? [String] ?? []).map { "\"\($0)\"" }
        return "{\"existing\":[],\"missing\":[\(hashes.joined(separator: ","))]}"
    }

    private static func listing(_ shared: Shared, _ hidden: Set<Int>) -> String {
        let hashes = shared.state.withLock { $0.hashes }
        let photos = hashes.enumerated().filter { !hidden.contains($0.offset) }.map { number, hash in
            """
            {"id":"\(id(number))","fileHash":"\(hash)","originalFilename":"a.jpg","fileSize":7,\
            "dateTaken":"2024-01-01T00:00:00Z","uploadedAt":"2024-01-01T00:00:00Z"}
            """
        }
        return """
            {"photos":[\(photos.joined(separator: ","))],"pagination":{"hasMore":false},\
            "sync":{"totalCount":\(photos.count),"returnedCount":\(photos.count),"serverVersion":\(photos.count)}}
            """
    }

    private static func status(_ shared: Shared, _ hidden: Set<Int>) -> String {
        let total = shared.state.withLock { $0.hashes.indices.filter { !hidden.contains($0) }.count }
        return """
            {"totalPhotos":\(total),"devicePhotos":\(total),"legacyPhotos":0,"otherDevicePhotos":0,\
            "serverVersion":\(total),"needsLegacyClaim":false}
            """
    }

    /// The responses from a server without photos.
    static let emptyListing =
        #"{"photos":[],"pagination":{"hasMore":false},"sync":{"totalCount":0,"returnedCount":0,"serverVersion":0}}"#
    static let emptyStatus = """
        {"totalPhotos":0,"devicePhotos":0,"legacyPhotos":0,"otherDevicePhotos":0,"serverVersion":0,\
        "needsLegacyClaim":false}
        """

    private static func id(_ number: Int) -> String { String(format: "11111111-0000-4000-8000-%012x", number) }
}
