public import MediaStore
internal import MediaTransport

/// Takes files back from one server (gighive contract section 5; docs/architecture.md).
///
/// A local entry is removed only when its file is known to be gone, or when the caller chooses so; every other end keeps
/// it.
public struct Deleter: Sendable {
    let client: GigHiveClient
    let store: TokenStore
    let host: String

    /// Makes a deleter.
    ///
    /// - Parameters:
    ///   - client: The server.
    ///   - store: Where the entries are.
    ///   - host: The scope whose entries are used; the client's own unless `--host` chose another.
    public init(client: GigHiveClient, store: TokenStore, host: String) {
        self.client = client
        self.store = store
        self.host = host
    }

    /// The entry that a deletion of `fileID` would use. With several rows for the id, the server is asked for the
    /// checksum and the row that matches is taken.
    ///
    /// - Throws: `GigHiveError`: `.noDeleteToken` (naming other hosts that know the id), `.idReused`, or what the server
    ///   answered.
    public func entry(for fileID: Int64) async throws(GigHiveError) -> TokenEntry {
        let rows = try GigHiveError.reading { () throws(StoreError) in try store.tokens(host: host, fileID: fileID) }
            .filter { !$0.isSuperseded }
        guard let newest = rows.first else {
            let all = try GigHiveError.reading { () throws(StoreError) in try store.tokens(host: nil) }
            let others = Set(all.filter { $0.fileID == fileID && $0.host != host }.map(\.host))
            throw GigHiveError(.noDeleteToken, fileID: fileID, otherHosts: others.sorted())
        }
        guard Set(rows.map(\.checksumSHA256)).count > 1 else { return newest }
        guard let asset = try await client.asset(fileID) else {
            // All of them are gone; the deletion finds that out again and removes this one.
            return newest
        }
        guard let match = rows.first(where: { $0.checksumSHA256 == asset.checksumSHA256 }) else {
            throw GigHiveError(.idReused, detail: "the server has another file under this id", fileID: fileID)
        }
        return match
    }

    /// Deletes by token. Reaches the server at most once; a lost answer is resolved by asking.
    ///
    /// Cancelling the task does not break a deletion off: once asked for, its outcome is found out.
    ///
    /// - Parameters:
    ///   - entry: The file and its token.
    ///   - onInvalidToken: Asked only when the server rejects the token while the same file is still there.
    /// - Returns: How it ended.
    public func delete(
        _ entry: TokenEntry,
        onInvalidToken: @escaping @Sendable (TokenEntry) async -> InvalidTokenChoice
    ) async -> DeleteResult {
        await Task {
            // Both spellings of the id serve all dialects (gighive contract 5.1); the lists of admin requests are left
            // out, because with admin credentials they would delete without a look at the token (trap T10).
            let body =
                #"{"file_id":\#(entry.fileID),"asset_id":\#(entry.fileID),"delete_token":\#(JSONText.quoted(entry.token.secret))}"#
            let answer = await send(body)
            if case .rejected(let status) = answer {
                return await settleRejected(entry, status, onInvalidToken)
            }
            return await settle(entry, answer)
        }.value
    }

    /// Deletes with admin credentials and the list keys, after comparing checksum and size with the stored entry
    /// (admin deletions check no token, trap T10).
    ///
    /// Cancelling the task does not break a deletion off: once asked for, its outcome is found out.
    public func deleteAsAdmin(_ entry: TokenEntry) async -> DeleteResult {
        await Task {
            do throws(GigHiveError) {
                guard try await verify(entry) else {
                    return removed(entry, .gone, 404)
                }
            } catch {
                return failed(entry, error)
            }
            let answer = await send(#"{"file_ids":[\#(entry.fileID)],"asset_ids":[\#(entry.fileID)]}"#)
            return await settle(entry, answer)
        }.value
    }

    // MARK: Asking

    /// Whether the server still has exactly the stored file under the id.
    ///
    /// - Returns: false when the file is gone.
    /// - Throws: `.adminUnverified` when that cannot be told, `.idReused` when it has another one.
    private func verify(_ entry: TokenEntry) async throws(GigHiveError) -> Bool {
        guard !entry.checksumSHA256.isEmpty else {
            throw GigHiveError(.adminUnverified, detail: "the local entry has no checksum", fileID: entry.fileID)
        }
        guard let asset = try await client.asset(entry.fileID) else { return false }
        guard let checksum = asset.checksumSHA256, let size = asset.sizeBytes else {
            throw GigHiveError(
                .adminUnverified,
                detail: "the server tells no checksum or size",
                fileID: entry.fileID
            )
        }
        guard checksum == entry.checksumSHA256, size == entry.sizeBytes else {
            throw GigHiveError(.idReused, detail: "the server has another file under this id", fileID: entry.fileID)
        }
        return true
    }

    private enum Answer: Sendable {
        /// 200 and exactly one file deleted (trap T12).
        case deleted(status: Int)
        /// 403 `Invalid delete token`: wrong, or gone, or never had one (trap T11).
        case rejected(status: Int)
        /// Known not to be deleted by this request.
        case refused(GigHiveError)
        /// It may be deleted: ask.
        case unclear(GigHiveError)
    }

    private func send(_ body: String) async -> Answer {
        let response: HTTPResponse
        do {
            response = try await client.http.execute(client.post("/db/delete_media_files.php", json: body))
        } catch {
            let wasSent = error.metrics.bodyComplete
            return wasSent ? .unclear(.transport(error)) : .refused(.transport(error))
        }
        let reply = DeleteReply.parse(response.body)
        var error = GigHiveError.answered(
            response.head,
            message: reply.message ?? reply.error,
            isJSON: reply.error != nil
        )
        if response.status == 400, let login = reply.neededLogin {
            error.code = .forbidden
            error.neededLogin = login
        }
        switch response.status {
        case 200 where reply.deletedCount == 1:
            return .deleted(status: 200)
        case 200..<300:
            let reasons = reply.itemErrors.joined(separator: ", ")
            return .unclear(GigHiveError(.notDeleted, detail: reasons, httpStatus: response.status))
        case 403 where reply.rejectsToken:
            return .rejected(status: 403)
        case 500...:
            return .unclear(error)
        default:
            return .refused(error)
        }
    }

    // MARK: Settling

    private func settle(_ entry: TokenEntry, _ answer: Answer) async -> DeleteResult {
        switch answer {
        case .deleted(let status):
            return removed(entry, .deleted, status)
        case .rejected(let status):
            return failed(entry, GigHiveError(.forbidden, detail: "Invalid delete token", httpStatus: status))
        case .refused(let error):
            return failed(entry, error)
        case .unclear(let error):
            return await settleUnclear(entry, error)
        }
    }

    /// An answer that is lost or says nothing: the file itself is the witness.
    private func settleUnclear(_ entry: TokenEntry, _ error: GigHiveError) async -> DeleteResult {
        do throws(GigHiveError) {
            guard let asset = try await client.asset(entry.fileID) else {
                return removed(entry, error.code == .notDeleted ? .gone : .deleted, error.httpStatus)
            }
            guard isSame(asset, entry) else {
                return failed(entry, reused(entry))
            }
            return failed(entry, error)
        } catch let reason {
            return failed(entry, error.code == .notDeleted ? error : error.asUnknownOutcome(reason))
        }
    }

    private func settleRejected(
        _ entry: TokenEntry,
        _ status: Int,
        _ onInvalidToken: @Sendable (TokenEntry) async -> InvalidTokenChoice
    ) async -> DeleteResult {
        do throws(GigHiveError) {
            guard let asset = try await client.asset(entry.fileID) else {
                return removed(entry, .gone, status)
            }
            guard isSame(asset, entry) else {
                return failed(entry, reused(entry))
            }
        } catch {
            return failed(entry, error)
        }
        let invalid = GigHiveError(.invalidDeleteToken, httpStatus: status, fileID: entry.fileID)
        switch await onInvalidToken(entry) {
        case .keep: return failed(entry, invalid)
        case .remove: return removed(entry, .entryRemoved, status)
        }
    }

    /// Whether an asset may be the entry's file. Without a checksum on one side there is nothing against it.
    private func isSame(_ asset: Asset, _ entry: TokenEntry) -> Bool {
        guard let checksum = asset.checksumSHA256, !entry.checksumSHA256.isEmpty else { return true }
        return checksum == entry.checksumSHA256
    }

    private func reused(_ entry: TokenEntry) -> GigHiveError {
        GigHiveError(.idReused, detail: "the server has another file under this id", fileID: entry.fileID)
    }

    private func removed(_ entry: TokenEntry, _ state: DeleteResult.State, _ status: Int?) -> DeleteResult {
        var result = DeleteResult(fileID: entry.fileID, state: state, entry: entry, host: host, httpStatus: status)
        do {
            try store.remove(entry)
        } catch {
            result.error = .store(error)
        }
        return result
    }

    private func failed(_ entry: TokenEntry, _ error: GigHiveError) -> DeleteResult {
        var error = error
        error.fileID = entry.fileID
        return DeleteResult(
            fileID: entry.fileID,
            state: .failed,
            entry: entry,
            host: host,
            httpStatus: error.httpStatus,
            error: error
        )
    }
}
