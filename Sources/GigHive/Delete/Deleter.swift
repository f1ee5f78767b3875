internal import MediaCore
public import MediaStore
internal import MediaTransport

/// Deletes files from one server (gighive contract section 5; docs/architecture.md).
///
/// A local entry is removed only if its file is known to be gone, or if the caller requests it.
public struct Deleter: Sendable {
    let client: GigHiveClient
    let store: TokenStore
    let host: String

    /// Creates a deleter. `host` is the scope whose entries are used: the client's own unless `--host` selects another.
    public init(client: GigHiveClient, store: TokenStore, host: String) {
        self.client = client
        self.store = store
        self.host = host
    }

    /// The entry that a deletion of `fileID` would use. If several entries have the ID, the one with the checksum that
    /// the server reports is used.
    ///
    /// - Throws: `GigHiveError`: `.noDeleteToken` (with other hosts that have the ID), `.idReused`, or an error from
    ///   the server.
    public func entry(for fileID: Int64) async throws(GigHiveError) -> TokenEntry {
        let rows = try GigHiveError.stored(store.tokens(host: host, fileID: fileID)).filter { !$0.isSuperseded }
        guard let newest = rows.first else {
            throw .withoutToken(fileID, host: host, in: store)
        }
        guard Set(rows.map(\.checksumSHA256)).count > 1 else { return newest }
        guard let asset = try await client.asset(fileID) else {
            // The file is gone; the deletion determines that again and removes this entry.
            return newest
        }
        guard let match = rows.first(where: { $0.checksumSHA256 == asset.checksumSHA256 }) else {
            throw GigHiveError(.idReused).with(\.fileID, fileID)
        }
        return match
    }

    /// Deletes by token. The request reaches the server at most once; a lost response is resolved by a query.
    ///
    /// For an admin login, the server refuses the token without checking it. The file is then compared
    /// with the entry and deleted with admin rights (gighive contract 5.2, trap T25).
    ///
    /// Canceling the task does not interrupt a deletion: the outcome of a requested deletion is always determined.
    ///
    /// `onInvalidToken` is called only if the server rejects the token while the same file still exists.
    public func delete(
        _ entry: TokenEntry,
        onInvalidToken: @escaping @Sendable (TokenEntry) async -> InvalidTokenChoice
    ) async -> DeleteResult {
        await Task {
            let target = AdminDeletion(entry)
            // Both spellings of the ID serve all dialects (gighive contract 5.1). The lists used in admin requests are
            // omitted: given a list and admin credentials, the server would delete without checking the token (trap
            // T10).
            let body: JSONObject = [
                "file_id": .integer(entry.fileID), "asset_id": .integer(entry.fileID),
                "delete_token": .string(entry.token.secret),
            ]
            let response = await send(body, fileID: entry.fileID, token: entry.token)
            switch response {
            case .rejected:
                return await handleRejected(entry, onInvalidToken)
            case .refused(let error) where error.neededLogin == .uploader:
                return await deleteVerified(target)
            default:
                return await handle(target, response)
            }
        }.value
    }

    /// Deletes with admin credentials, by a list of IDs, after comparing the server's checksum and size with the
    /// expected ones (the server checks no token, trap T10). Local entries of the file are removed, and guest uploads
    /// of it are recorded as deleted, once the server confirms that it is gone.
    ///
    /// Canceling the task does not interrupt a deletion: the outcome of a requested deletion is always determined.
    public func deleteAsAdmin(_ target: AdminDeletion) async -> DeleteResult {
        await Task { await deleteVerified(target) }.value
    }

    private func deleteVerified(_ target: AdminDeletion) async -> DeleteResult {
        var result: DeleteResult
        do throws(GigHiveError) {
            if try await verify(target) {
                let ids: JSONValue = [.integer(target.fileID)]
                let response = await send(["file_ids": ids, "asset_ids": ids], fileID: target.fileID)
                result = await handle(target, response)
            } else {
                result = removed(target, .gone, 404)
            }
        } catch {
            result = failed(target, error)
        }
        result.usedAdminRights = true
        return result
    }

    // MARK: Queries

    /// Whether the server still has exactly the known file under the ID; false if the file is gone.
    ///
    /// - Throws: `.adminUnverified` if that cannot be determined, `.idReused` if the ID belongs to a different file.
    private func verify(_ target: AdminDeletion) async throws(GigHiveError) -> Bool {
        guard !target.checksumSHA256.isEmpty else {
            throw GigHiveError(.adminUnverified, detail: "the local entry has no checksum")
                .with(\.fileID, target.fileID)
        }
        guard let asset = try await client.asset(target.fileID) else { return false }
        guard let checksum = asset.checksumSHA256, let size = asset.sizeBytes else {
            throw GigHiveError(
                .adminUnverified,
                detail: "the server reports no checksum or size"
            ).with(\.fileID, target.fileID)
        }
        guard checksum == target.checksumSHA256, size == target.sizeBytes ?? size else {
            throw GigHiveError(.idReused, detail: "its checksum is \(checksum)").with(\.fileID, target.fileID)
        }
        return true
    }

    private enum Verdict: Sendable {
        /// 200, and exactly the requested file was deleted (trap T12).
        case deleted
        /// 403 `Invalid delete token`: the token is wrong, or the file is gone or never had a token (trap T11).
        case rejected
        /// Known not to have been deleted by this request.
        case refused(GigHiveError)
        /// The file may have been deleted; a query determines whether it was. `isClaimed` is whether the server reports
        /// one deletion without confirming its ID; true if there is no response or the server failed, nil if the
        /// response has no count.
        case unclear(GigHiveError, isClaimed: Bool?)
    }

    private func send(_ body: JSONObject, fileID: Int64, token: DeleteToken? = nil) async -> Verdict {
        let response: HTTPResponse
        var request = client.post("/db/delete_media_files.php", json: body)
        request.tokens = token.map { [$0.secret] } ?? []
        do {
            response = try await client.http.execute(request)
        } catch {
            let wasSent = error.metrics.bodyComplete
            return wasSent ? .unclear(.transport(error), isClaimed: true) : .refused(.transport(error))
        }
        let content = DeleteResponse.parse(response.body)
        if (200..<300).contains(response.status) {
            return judge(content, response.status, fileID)
        }
        var error = content.failure(response.head)
        if response.status == 400, let login = content.neededLogin {
            error.code = .forbidden
            error.neededLogin = login
        }
        switch response.status {
        case 403 where content.rejectsToken:
            return .rejected
        case 500...:
            return .unclear(error, isClaimed: true)
        default:
            return .refused(error)
        }
    }

    /// Compares the deleted IDs with the requested one (traps T12 and T25).
    private func judge(_ response: DeleteResponse, _ status: Int, _ fileID: Int64) -> Verdict {
        let (count, ids) = (response.deletedCount, response.deletedIDs)
        guard max(count ?? 0, Int64(ids?.count ?? 0)) <= 1, ids?.allSatisfy({ $0 == fileID }) ?? true else {
            let list = ids.map { "deleted IDs: " + $0.map(String.init).joined(separator: ", ") }
            let detail = list ?? "\(count ?? 0) files deleted"
            return .refused(GigHiveError(.otherFilesDeleted, detail: detail, httpStatus: status))
        }
        if status == 200, count == 1, ids == [fileID] { return .deleted }
        let reasons = response.itemErrors.joined(separator: ", ")
        return .unclear(
            GigHiveError(.notDeleted, detail: reasons, httpStatus: status),
            isClaimed: count.map { $0 == 1 }
        )
    }

    // MARK: Outcomes

    private func handle(_ target: AdminDeletion, _ verdict: Verdict) async -> DeleteResult {
        switch verdict {
        case .deleted:
            return await confirmed(target)
        case .rejected:
            return failed(target, GigHiveError(.forbidden, detail: "Invalid delete token", httpStatus: 403))
        case .refused(let error):
            return failed(target, error)
        case .unclear(let error, let isClaimed):
            return await handleUnclear(target, error, isClaimed: isClaimed)
        }
    }

    /// Resolves a lost or inconclusive response by a query for the file.
    private func handleUnclear(_ target: AdminDeletion, _ error: GigHiveError, isClaimed: Bool?) async -> DeleteResult {
        do throws(GigHiveError) {
            guard let asset = try await client.asset(target.fileID) else {
                return removed(target, isClaimed == true ? .deleted : .gone, error.httpStatus)
            }
            guard isSame(asset, target) else {
                return failed(target, GigHiveError(.idReused))
            }
            // The application removes the row last. Unless it has responded, it may still be deleting the file: a 502
            // or 504 comes from a proxy in front of it, and a 503 means that it is not running.
            let hasFinished = error.httpStatus.map { $0 <= 501 || $0 == 503 } ?? false
            return failed(target, hasFinished ? error : unknown(error.asUnknownOutcome))
        } catch let reason {
            return failed(target, isClaimed == false ? error : unknown(error.asUnknownOutcome(reason)))
        }
    }

    private func unknown(_ error: GigHiveError) -> GigHiveError { error.with(\.field, "deletion") }

    private func handleRejected(
        _ entry: TokenEntry,
        _ onInvalidToken: @Sendable (TokenEntry) async -> InvalidTokenChoice
    ) async -> DeleteResult {
        let target = AdminDeletion(entry)
        do throws(GigHiveError) {
            guard let asset = try await client.asset(entry.fileID) else {
                return removed(target, .gone, 403)
            }
            guard isSame(asset, target) else {
                return failed(target, GigHiveError(.idReused))
            }
        } catch {
            return failed(target, error)
        }
        let invalid = GigHiveError(.invalidDeleteToken, httpStatus: 403).with(\.fileID, entry.fileID)
        switch await onInvalidToken(entry) {
        case .keep: return failed(target, invalid)
        case .remove: return removed(target, .entryRemoved, 403)
        }
    }

    /// Whether an asset may be the file, even without a checksum on one side.
    private func isSame(_ asset: ServerMedia, _ target: AdminDeletion) -> Bool {
        guard let checksum = asset.checksumSHA256, !target.checksumSHA256.isEmpty else { return true }
        return checksum == target.checksumSHA256
    }

    /// Handles a deletion that the server reports. If the file was selected on the server, not by an entry, its entries
    /// are removed only if it is gone there.
    private func confirmed(_ target: AdminDeletion) async -> DeleteResult {
        if target.entry == nil {
            guard (try? await client.asset(target.fileID) == nil) == true else {
                return DeleteResult(fileID: target.fileID, state: .deleted, host: host, httpStatus: 200)
            }
        }
        return removed(target, .deleted, 200)
    }

    private func removed(_ target: AdminDeletion, _ state: DeleteResult.State, _ status: Int?) -> DeleteResult {
        var result = DeleteResult(
            fileID: target.fileID,
            state: state,
            entry: target.entry,
            host: host,
            httpStatus: status
        )
        do {
            if let entry = target.entry {
                try store.remove(entry)
            } else {
                let entries = try store.tokens(host: host, fileID: target.fileID)
                for entry in entries where entry.checksumSHA256 == target.checksumSHA256 && !entry.isSuperseded {
                    try store.remove(entry)
                }
                // An upload from this machine without a token.
                if entries.isEmpty,
                    try store.uploads(fileID: target.fileID, host: host)
                        .contains(where: { !$0.isGuest && $0.checksumSHA256 == target.checksumSHA256 })
                {
                    try store.noteDeletion(host: host, fileID: target.fileID, checksumSHA256: target.checksumSHA256)
                }
            }
            if state != .entryRemoved {
                // The server still reports a deleted upload as pending to guests if it was pending (gighive contract
                // section 6).
                for upload in try store.guestUploads(host: host, fileID: target.fileID)
                where upload.checksumSHA256 == target.checksumSHA256 {
                    try store.update(upload.uploadID, UploadChange(failureCode: UploadRecord.deleted))
                }
            }
        } catch {
            result.error = GigHiveError(error)
            if state == .entryRemoved { result.state = .failed }
        }
        return result
    }

    private func failed(_ target: AdminDeletion, _ error: GigHiveError) -> DeleteResult {
        DeleteResult(
            fileID: target.fileID,
            state: .failed,
            entry: target.entry,
            host: host,
            httpStatus: error.httpStatus,
            error: error.with(\.fileID, target.fileID)
        )
    }
}

/// What to do with a local entry whose token the server rejects even though the file is still there.
public enum InvalidTokenChoice: String, Sendable, CaseIterable {
    /// Keep the entry.
    case keep
    /// Remove the entry; the file stays on the server.
    case remove
}

/// A file to delete with admin rights: its ID and the known facts about its content. An admin's request has no token,
/// so only the content distinguishes the file from another that now has its ID (trap T10).
public struct AdminDeletion: Sendable, Equatable {
    /// The ID on the server.
    public var fileID: Int64
    /// 64 lowercase hexadecimal characters.
    public var checksumSHA256: String
    /// Length in bytes; nil if it is not known.
    public var sizeBytes: Int64?
    public var entry: TokenEntry?

    public init(fileID: Int64, checksumSHA256: String, sizeBytes: Int64? = nil, entry: TokenEntry? = nil) {
        self.fileID = fileID
        self.checksumSHA256 = checksumSHA256
        self.sizeBytes = sizeBytes
        self.entry = entry
    }

    /// The deletion of an entry's file.
    public init(_ entry: TokenEntry) {
        self.init(
            fileID: entry.fileID,
            checksumSHA256: entry.checksumSHA256,
            sizeBytes: entry.sizeBytes > 0 ? entry.sizeBytes : nil,
            entry: entry
        )
    }
}

/// The result of one deletion.
public struct DeleteResult: Sendable {
    /// The possible results.
    public enum State: String, Sendable, CaseIterable {
        /// The server deleted the file in response to this request.
        case deleted
        /// The file was already gone; the local entry was removed.
        case gone
        /// The server rejects the token; the local entry was removed as chosen.
        case entryRemoved = "entry_removed"
        /// The file was not deleted, or the outcome is unknown (`.unknownOutcome`); see `error`.
        case failed
        /// `--dry-run`: the deletion would have been requested.
        case planned
        /// Declined at the prompt.
        case declined
    }

    /// The ID on the server.
    public var fileID: Int64
    public var state: State
    public var entry: TokenEntry?
    /// The key in the token store.
    public var host: String
    /// Status of the last response.
    public var httpStatus: Int?
    /// Whether the deletion used admin rights instead of the token.
    public var usedAdminRights = false
    /// Why the deletion failed; set with `.deleted` and `.gone` only if the local entry could not be removed.
    public var error: GigHiveError?

    package init(
        fileID: Int64,
        state: State,
        entry: TokenEntry? = nil,
        host: String,
        httpStatus: Int? = nil,
        error: GigHiveError? = nil
    ) {
        self.fileID = fileID
        self.state = state
        self.entry = entry
        self.host = host
        self.httpStatus = httpStatus
        self.error = error
    }
}

extension GigHiveClient {
    /// Checks that the login is an admin's, by a request without IDs, which deletes nothing: the server reports which
    /// body it expects from this user (gighive contract 5.4, trap T25).
    ///
    /// - Throws: `GigHiveError`: `.forbidden` with `neededLogin` for an uploader, `.unauthorized` for every other user.
    public func requireAdmin() async throws(GigHiveError) {
        let (response, content) = try await deletionWithoutIDs()
        // `.uploader` is reported to admins. Any other 400 does not show the role; the deletion itself will.
        guard response.status != 400 || content.neededLogin == .admin else { return }
        var error = content.failure(response.head)
        if content.neededLogin == .admin {
            error = GigHiveError(.forbidden, httpStatus: response.status)
            error.neededLogin = .admin
        }
        throw error
    }

    /// Whether the login is an admin's, determined by the same request; nil if the response does not show it.
    func isAdmin() async throws(GigHiveError) -> Bool? {
        let (response, content) = try await deletionWithoutIDs()
        guard response.status == 400, let login = content.neededLogin else { return nil }
        // The server expects a list of IDs from an admin; a deletion by token would require an uploader's login.
        return login == .uploader
    }

    private func deletionWithoutIDs() async throws(GigHiveError) -> (response: HTTPResponse, content: DeleteResponse) {
        let response = try await send(post("/db/delete_media_files.php", json: [:]))
        return (response, DeleteResponse.parse(response.body))
    }
}
