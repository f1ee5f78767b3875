import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The parts of a form that was received whole.
struct CaptureForm {
    private(set) var parts: [String: [UInt8]] = [:]

    /// - Throws: `CaptureRefusal` 400 for anything but a form within the framework's limit (contract 6.1, 7).
    init(_ body: [UInt8], _ exchange: Exchange) throws {
        let type = HeaderParameters(exchange.request.headers[.contentType] ?? "")
        guard type.value.lowercased() == "multipart/form-data", let boundary = type["boundary"], !boundary.isEmpty
        else {
            throw CaptureRefusal.invalid("Request must be multipart/form-data")
        }
        guard body.count <= CaptureSite.frameworkLimit else {
            throw CaptureRefusal.invalid("Error parsing multipart/form-data request")
        }
        var parser = MultipartParser(boundary: boundary)
        var name = ""
        var content: [UInt8] = []
        var parts: [String: [UInt8]] = [:]
        do {
            try parser.consume(ByteBuffer(bytes: body)) { event in
                switch event {
                case .partBegan(let header):
                    name = header.name
                    content = []
                case .data(let buffer): content += buffer.readableBytesView
                case .partEnded: parts[name] = content
                }
            }
        } catch {
            throw CaptureRefusal.invalid("Error parsing multipart/form-data request")
        }
        guard parser.isComplete else { throw CaptureRefusal.invalid("Error parsing multipart/form-data request") }
        self.parts = parts
    }
}

/// Makes the answers to one request.
struct CaptureEnvelope {
    let profile: CaptureSettings.Profile
    let now: CaptureTime
    /// The client's `X-Request-Id`, or a new one when that is no UUID.
    let requestID: String

    init(_ settings: CaptureSettings, requestID: String?) {
        profile = settings.profile
        now = settings.now
        self.requestID = requestID.flatMap(CaptureID.read) ?? CaptureID.new()
    }

    private var meta: JSONValue { ["request_id": .string(requestID), "timestamp": .string(now.metaText)] }

    /// `{"data":…,"meta":…}`.
    func reply(_ status: HTTPResponse.Status, data: JSONValue) -> Reply {
        finished(Reply(status: status, origin: .captures, body: .serdeJSON(["data": data, "meta": meta])))
    }

    /// `{"error":…,"meta":…}`, or what the framework says in its own words.
    func reply(_ refusal: CaptureRefusal) -> Reply {
        switch refusal.kind {
        case .envelope(let code, let details): return error(refusal, code, details)
        case .framework(let code):
            if profile == .mediactl1 { return error(refusal, code, nil) }
            let body: Reply.Body = refusal.message.isEmpty ? .empty : .plainText(refusal.message)
            return finished(Reply(status: refusal.status, origin: .captures, body: body))
        }
    }

    private func error(_ refusal: CaptureRefusal, _ code: String, _ details: JSONValue?) -> Reply {
        let message = refusal.message.isEmpty ? refusal.status.reasonPhrase : refusal.message
        var error: JSONObject = ["code": .string(code), "message": .string(message)]
        error["details"] = details
        return finished(
            Reply(
                status: refusal.status,
                origin: .captures,
                body: .serdeJSON(["error": .object(error), "meta": meta])
            )
        )
    }

    private func finished(_ reply: Reply) -> Reply {
        var reply = reply
        reply.headers += [("X-Request-Id", requestID), ("Date", HTTPDate.text(now.seconds))]
        return reply
    }
}

extension Reply {
    /// What a fault says in the server's words; a proxy's page where it can only be a proxy.
    static func captureFault(_ status: HTTPResponse.Status) -> Reply {
        let codes = [
            400: "VALIDATION_ERROR", 401: "ATTESTATION_FAILED", 403: "FORBIDDEN", 404: "DEVICE_NOT_FOUND",
            409: "DEVICE_ALREADY_REGISTERED", 429: "TOO_MANY_REQUESTS", 500: "INTERNAL_ERROR",
        ]
        guard let code = codes[status.code] else { return .webServerError(status) }
        return CaptureEnvelope(CaptureSettings(), requestID: nil)
            .reply(CaptureRefusal(status, code, "Injected by the sandbox"))
    }
}

/// Every body that reached a capture route, refused ones too, for tests that search the wire.
final class ReceivedBodies: Sendable {
    private let entries = Mutex<[(path: String, body: [UInt8])]>([])

    func add(_ path: String, _ body: [UInt8]) { entries.withLock { $0.append((path, body)) } }

    var all: [(path: String, body: [UInt8])] { entries.withLock { $0 } }
}
