public import Foundation
public import MediaStore
public import MediaTransport

/// A response on this machine that may contain a delete token that is not in the store.
public struct KeptResponse: Sendable, Equatable {
    /// `r-` and eight characters.
    public var id: String
    /// The upload in the journal; nil if it is unknown.
    public var uploadID: String?
    /// The host of that upload; nil if it is unknown.
    public var host: String?
    /// The status of the response; nil if it is unknown.
    public var status: Int?
    /// When the response arrived.
    public var receivedAt: Date
    public var sizeBytes: Int
    /// Whether a delete token was found in the response.
    public var hasToken: Bool
    /// The file's ID on the server, if the response or the journal has it.
    public var fileID: Int64?
    /// Path of the file that contains the response.
    public var path: String
}

/// The responses that are kept until their tokens are stored, or until the user discards them.
public struct KeptResponses: Sendable {
    private let store: TokenStore
    private let directory: DataDirectory
    var now: @Sendable () -> Date = { Date() }

    /// Opens nothing. `RescueAdoption.run` first stores the tokens that can be stored without the user.
    public init(store: TokenStore, directory: DataDirectory) {
        self.store = store
        self.directory = directory
    }

    /// The responses that no running process owns, oldest first.
    public func list() throws(StoreError) -> [KeptResponse] {
        var kept: [KeptResponse] = []
        for response in try stored() { kept.append(try Content(response, store).summary) }
        return kept.sorted { $0.receivedAt < $1.receivedAt }
    }

    /// Removes a response; any token in it is lost. Returns nil if there is no such response.
    public func discard(_ id: String) throws(StoreError) -> KeptResponse? {
        guard let response = try stored().first(where: { $0.id == id }) else { return nil }
        let summary = try Content(response, store).summary
        response.release()
        return summary
    }

    /// The source of a token.
    public enum Source: Sendable {
        /// A kept response, by its ID or its path.
        case response(String)
        /// The content of any other file.
        case body([UInt8])
    }

    /// An adopted token.
    public struct Adoption: Sendable {
        public var entry: TokenEntry
        /// Whether the token was already stored.
        public var wasStored: Bool
    }

    /// Stores the token from a response, or a token that the user typed. Sends nothing.
    ///
    /// `typed` replaces the token in the response; without it, `source` must not be nil. If `fileID` is nil, the ID in
    /// the response is used; if `server` is nil, the server of the response's upload is used. With `isDryRun`, nothing
    /// is changed.
    public func adopt(
        _ source: Source?,
        typed: DeleteToken? = nil,
        fileID: Int64? = nil,
        server: ServerURL? = nil,
        isDryRun: Bool = false
    ) async throws(AdoptionError) -> Adoption {
        do {
            var content = try content(of: source)
            var response = content.parsed
            if let typed { response.deleteToken = typed }
            guard let token = response.deleteToken else { throw AdoptionError.noToken }
            // A response about a different file is not reused for this file.
            if let fileID, typed == nil, let own = response.fileID, own != fileID { throw AdoptionError.otherFile(own) }
            guard let id = fileID ?? response.fileID ?? content.record?.fileID else { throw AdoptionError.noFileID }
            response.fileID = id
            let hasNoUpload = content.record == nil
            if hasNoUpload { content.record = try journaled(response, id, on: server) }
            let known = try store.tokens(fileID: id, host: server?.scope ?? content.record?.host).first {
                $0.token == token
            }
            if content.record == nil, let known {
                if !isDryRun, let stored = content.stored {
                    try store.synchronize()
                    stored.release()
                }
                return Adoption(entry: known, wasStored: true)
            }
            let record = try content.record(on: server, now: now())
            if try store.hasToken(token, host: record.host, ofOtherThan: id) { throw AdoptionError.tokenInUse }
            guard let entry = UploadOutcomeRecorder(store: store, record: record).entry(response) else {
                throw AdoptionError.noFileID
            }
            if hasNoUpload, known == nil,
                try store.isRemoved(host: entry.host, fileID: id, checksumSHA256: entry.checksumSHA256)
            {
                throw AdoptionError.removed(id)
            }
            let adoption = Adoption(entry: known ?? entry, wasStored: known != nil)
            guard !isDryRun else { return adoption }
            let isAwaited = content.record.map { [.tokenLost, .finalized].contains($0.state) } ?? false
            let change = UploadChange(state: isAwaited ? .done : nil, fileID: id, clearsFailure: isAwaited)
            try await store.commit(record.uploadID, change, token: entry)
            content.stored?.release()
            return adoption
        } catch let error as AdoptionError {
            throw error
        } catch let error as StoreError {
            throw .store(error)
        } catch {
            throw .noToken
        }
    }

    // MARK: Content

    /// The upload from this machine that a copy of a response concerns; nil if there is none, or more than one.
    private func journaled(
        _ response: UploadResponse,
        _ id: Int64,
        on server: ServerURL?
    ) throws(StoreError) -> UploadRecord? {
        guard let checksum = response.checksumSHA256 else { return nil }
        let records = try store.uploads(fileID: id, host: server?.scope).filter { $0.checksumSHA256 == checksum }
        return Set(records.map(\.host)).count == 1 ? records.first : nil
    }

    private func stored() throws(StoreError) -> [StoredResponse] {
        try StoredResponse.abandoned(in: directory).filter { $0.status != nil || !$0.isReadable }
    }

    private func content(of source: Source?) throws -> Content {
        switch source {
        case .response(let name)?:
            let matches = try stored().filter { $0.id == name || $0.path == name }
            guard let response = matches.first else { throw AdoptionError.unknownResponse }
            guard Set(matches.map(\.id)).count == 1 else { throw AdoptionError.severalResponses(matches.map(\.id)) }
            return try Content(response, store)
        case .body(let bytes)?:
            let bodies = StoredResponse.bodies(in: bytes) ?? [bytes]
            guard bodies.count <= 1 else { throw AdoptionError.severalResponses([]) }
            return Content(bodies.first ?? [])
        case nil: return Content([])
        }
    }

    private struct Content {
        var stored: StoredResponse?
        var parsed: UploadResponse
        var record: UploadRecord?

        init(_ stored: StoredResponse, _ store: TokenStore) throws(StoreError) {
            self.stored = stored
            parsed = UploadResponse.parse(status: stored.status ?? 0, body: stored.body)
            record = try store.upload(stored.uploadID)
        }

        init(_ body: [UInt8]) {
            parsed = UploadResponse.parse(status: 0, body: body, isComplete: true)
        }

        var summary: KeptResponse {
            KeptResponse(
                id: stored?.id ?? "",
                uploadID: stored.flatMap { $0.uploadID.isEmpty ? nil : $0.uploadID },
                host: record?.host,
                status: stored?.status,
                receivedAt: stored?.receivedAt ?? Date(timeIntervalSince1970: 0),
                sizeBytes: stored?.body.count ?? 0,
                hasToken: parsed.deleteToken != nil,
                fileID: parsed.fileID ?? record?.fileID,
                path: stored?.path ?? ""
            )
        }

        /// The upload that the token belongs to; without a row in the journal, a record with only its server.
        func record(on server: ServerURL?, now: Date) throws(AdoptionError) -> UploadRecord {
            if let record {
                if let server, server.scope != record.host { throw .otherServer(record.baseURL) }
                return record
            }
            guard let server else { throw .noServer }
            return UploadRecord(
                uploadID: TokenStore.newUploadID(),
                path: Array((parsed.fileName ?? "").utf8),
                state: .done,
                host: server.scope,
                baseURL: server.description,
                fields: [],
                identity: nil,
                sizeBytes: 0,
                createdAt: now,
                updatedAt: now
            )
        }
    }
}

/// Why a token was not stored.
public enum AdoptionError: Error, Sendable {
    /// There is no such response.
    case unknownResponse
    /// The file contains several responses, with these IDs; empty for a copy of a rescue file.
    case severalResponses([String])
    /// The response has no token, or more than one.
    case noToken
    /// Neither the response nor the user has specified the ID of the file.
    case noFileID
    /// The response is about the file with this ID.
    case otherFile(Int64)
    /// Neither the journal nor the user has specified the server.
    case noServer
    /// The upload was sent to this server.
    case otherServer(String)
    /// Another file on the host has this token.
    case tokenInUse
    /// The entry of the file with this ID was removed on this machine, for example by a deletion.
    case removed(Int64)
    /// The store cannot be used.
    case store(StoreError)
}
