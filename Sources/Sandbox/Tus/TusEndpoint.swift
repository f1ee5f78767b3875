import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `/files/`: tus 1.0.0 as tusd answers it behind the web firewall (gighive contract 4.1).
struct TusEndpoint: TusService {
    let store: TusStore
    let settings: TusSettings

    func answer(_ call: TusCall, to exchange: Exchange) async throws -> Answer {
        do {
            let reply = try await reply(call, to: exchange)
            return Answer(reply: reply, isEarly: !exchange.isBodyRead)
        } catch let error as TusError {
            return Answer(reply: error.reply, isEarly: !exchange.isBodyRead)
        } catch let error as SystemError {
            return Answer(reply: TusError.system(error).reply, isEarly: !exchange.isBodyRead)
        }
    }

    func summaries() throws -> [TusSummary] {
        try store.all().map { upload in
            TusSummary(
                id: upload.id,
                offset: upload.offset,
                length: upload.length,
                isFinished: upload.finishedAt != nil
            )
        }
    }

    private func reply(_ call: TusCall, to exchange: Exchange) async throws -> Reply {
        let body = try await wholeBody(call, of: exchange)
        if case .options = call { return optionsReply }
        if case .head = call {} else { try checkVersion(exchange) }
        if let id = call.id { try strike(id, exchange.plan) }
        switch call {
        case .create: return try await create(exchange, body)
        case .patch(let id): return try await patch(id, exchange, body)
        case .head(let id): return try head(id, exchange)
        case .terminate(let id): return try terminate(id)
        case .options, .other: return .tus(.methodNotAllowed, body: .plainText("Method Not Allowed\n"))
        }
    }

    /// The body, when somebody keeps it back until it is whole: the firewall, or tusd for the sake of a checksum.
    ///
    /// A body that is no chunk is read and dropped.
    private func wholeBody(_ call: TusCall, of exchange: Exchange) async throws -> IncomingFile? {
        let isChunk: Bool =
            switch call {
            case .patch: true
            case .create: holdsChunk(exchange)
            case .options, .head, .terminate, .other: false
            }
        guard isChunk else {
            try await exchange.readBody { _ in }
            return nil
        }
        let checksum = try? checksum(exchange)
        guard settings.buffersBodies || checksum != nil else { return nil }
        let body = try IncomingFile(path: store.folder.newIncomingPath(), hashedBy: checksum?.algorithm)
        try await exchange.receiveBody(body.append)
        return body
    }

    private func checkVersion(_ exchange: Exchange) throws(TusError) {
        guard exchange.header("Tus-Resumable") == "1.0.0" else { throw .unsupportedVersion }
    }

    /// Lets the faults that take an upload away do so, then whatever has run out of time.
    private func strike(_ id: String, _ plan: FaultPlan) throws {
        if plan.has(.forget) { try store.forget(id) }
        if plan.has(.expire) { try store.expire(id) }
        guard let lifetime = settings.lifetime, let upload = try store.find(id), !upload.isComplete,
            let touched = store.lastTouched(id), touched + lifetime < Date().timeIntervalSince1970
        else { return }
        try store.expire(id)
    }

    // MARK: OPTIONS

    private var optionsReply: Reply {
        var headers = [("Tus-Version", "1.0.0"), ("Tus-Extension", settings.extensions)]
        if let size = settings.maxSize { headers.append(("Tus-Max-Size", String(size))) }
        if settings.offers(.checksum) {
            let names = Digest.Algorithm.allCases.map(\.rawValue)
            headers.append(("Tus-Checksum-Algorithm", names.joined(separator: ",")))
        }
        return .tus(.ok, headers)
    }

    func expiry(of id: String) -> [(name: String, value: String)] {
        guard let lifetime = settings.lifetime, let touched = store.lastTouched(id) else { return [] }
        return [("Upload-Expires", HTTPDate.text(time_t(touched + lifetime)))]
    }
}
