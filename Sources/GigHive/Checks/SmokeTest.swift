internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
public import MediaTransport
internal import Synchronization
internal import Tus

/// Proves that a server works by using it: uploads a tiny recording, finds it, and deletes it.
///
/// It deletes only the file that it uploaded, by the ID in this run's response: with the token, or with admin rights
/// after comparing the checksum. A file that it cannot delete is reported in the facts of the check `delete`
/// (`left_file_id`, `left_event_date`, `left_org_name`, and without a token `left_checksum_sha256`). The bytes are
/// unique, and all runs use one event, because servers keep an event whose last file was deleted (gighive contract
/// 5.4). Tokens are kept in the token store, as for any upload, so `uploads delete` can delete the file left by an
/// interrupted run.
public struct SmokeTest: Sendable {
    /// The names of all checks, in order.
    public static let names = ["login", "upload", "checksum", "token", "listed", "served", "delete", "gone"]

    /// The event that all runs share.
    public static let event = (date: "2000-01-01", organization: "mediactl smoke test")

    private let uploader: Uploader
    private let sizeText: @Sendable (Int64) -> String
    /// Maximum time to wait for the response to the deletion after a stop.
    var finishTime = Duration.seconds(5)

    /// Creates a smoke test that uses the uploader's transport. `sizeText` formats a number of bytes.
    public init(uploader: Uploader, sizeText: @escaping @Sendable (Int64) -> String = { "\($0) bytes" }) {
        self.uploader = uploader
        self.sizeText = sizeText
    }

    /// Runs all checks, in the order of `names`. Canceling the task or requesting a stop interrupts the upload only
    /// while its bytes are being sent; a file that reached the server is still deleted. After a stop, the server has
    /// five seconds to respond to the deletion, and five to confirm it.
    ///
    /// The recording is stored in `directory` and removed at the end. `onCheck` is called after each check.
    public func run(
        in directory: String,
        control: TransferControl = TransferControl(),
        onCheck: @escaping @Sendable (ServerCheck) -> Void = { _ in }
    ) async -> [ServerCheck] {
        var list = CheckList(onCheck: onCheck)
        let client = uploader.client
        await list.run("login") { () throws(GigHiveError) in
            _ = try await client.listing()
            return ServerCheck(.passed, "accepted")
        }
        guard list.isGood, !control.isStopRequested else {
            return list.skippingRest(of: Self.names, list.isGood ? "stopped" : "not checked: login failed")
        }
        let path = directory + "/mediactl-smoke-\(UUID().uuidString.lowercased()).wav"
        defer { unlink(path) }
        var stored: UploadResult?
        await list.run("upload") { () throws(GigHiveError) in
            let result = try await upload(path, control)
            stored = result
            return try check(result)
        }
        guard let stored, stored.state != .planned, stored.fileID != nil else {
            let isUnknown = stored?.state == .unknownOutcome
            let reason = isUnknown ? "not checked: upload outcome unknown" : "not checked: upload failed"
            return list.skippingRest(of: Self.names, reason)
        }
        if control.isStopRequested {
            for name in ["checksum", "token", "listed", "served"] { list.skip(name, "stopped") }
        } else {
            await checkStored(at: stored, &list)
        }
        await delete(stored, control, &list)
        return list.checks
    }

    // MARK: Upload

    private func upload(_ path: String, _ control: TransferControl) async throws(GigHiveError) -> UploadResult {
        if try await hasNoTokens() { try await requireAdmin() }
        let run = (path as NSString).lastPathComponent
        guard
            FileManager.default.createFile(
                atPath: path,
                contents: Data(SmokeClip.bytes(run: run)),
                attributes: [.posixPermissions: 0o600]
            )
        else {
            throw GigHiveError(.fileUnreadable, detail: "cannot be written", path: Array(path.utf8))
        }
        let details = try UploadDetails.validated(
            eventDate: Self.event.date,
            orgName: Self.event.organization,
            eventType: "band",
            label: "smoke test"
        )
        let prepared = try uploader.prepare(Array(path.utf8), details: details)
        return await uploader.upload(prepared, control: control)
    }

    /// Whether the server does not issue a delete token for the test file to any user (gighive-d4 contract section 3).
    private func hasNoTokens() async throws(GigHiveError) -> Bool {
        guard uploader.options.transport == .tus else { return false }
        return try await uploader.tusFeatures()?.countsChunks == true
    }

    /// The test file of a user who is not an admin would stay on the server.
    private func requireAdmin() async throws(GigHiveError) {
        do {
            try await uploader.client.requireAdmin()
        } catch {
            guard error.neededLogin == .admin else { throw error }
            var error = error
            error.httpStatus = nil
            error.detail =
                "only an administrator can delete the test file, because this server issues no delete tokens over tus"
            throw error
        }
    }

    private func check(_ result: UploadResult) throws(GigHiveError) -> ServerCheck {
        if let error = result.error {
            throw error
        }
        guard result.state == .done, let fileID = result.fileID else {
            throw GigHiveError(
                .unexpectedResponse,
                detail: "the upload of new bytes was reported as \(result.state.rawValue)",
                httpStatus: result.httpStatus
            )
        }
        return ServerCheck(
            .passed,
            "\(sizeText(result.sizeBytes)) stored as \(fileID)",
            facts: ["file_id": String(fileID), "transport": result.transport.rawValue]
        )
    }

    private func checkStored(at stored: UploadResult, _ list: inout CheckList) async {
        let client = uploader.client
        await list.run("checksum") { () throws(GigHiveError) in
            guard stored.isVerified == true else {
                throw GigHiveError(.checksumMismatch, detail: "the response has no checksum, or a different one")
            }
            return ServerCheck(.passed, stored.checksumSHA256 ?? "")
        }
        await list.run("token") { () throws(GigHiveError) in
            guard !stored.hasDeleteToken else { return ServerCheck(.passed, "stored in the token store") }
            guard try await hasNoTokens() else { throw GigHiveError(.tokenLost).with(\.fileID, stored.fileID) }
            return ServerCheck(.skipped, "not checked: this server issues no delete tokens over tus")
        }
        await list.run("listed") { () throws(GigHiveError) in
            let inquiry = uploader.inquiry(
                checksum: stored.checksumSHA256 ?? "",
                fileName: stored.fileName,
                sizeBytes: stored.sizeBytes,
                event: InventoryEvent(date: Self.event.date, orgName: Self.event.organization)
            )
            let fileID: Int64
            switch await inquiry.checkOnce(control: TransferControl()) {
            case .present(let copy) where copy.placement == .event: fileID = copy.fileID ?? 0
            case .noResponse(let error): throw error
            case .present, .absent, .stopped:
                throw GigHiveError(.notFound, detail: "the event does not list the upload")
                    .with(\.fileID, stored.fileID)
            }
            guard fileID == stored.fileID else {
                throw GigHiveError(.idReused, detail: "listed as \(fileID)").with(\.fileID, stored.fileID)
            }
            return ServerCheck(.passed, "with the same ID and checksum")
        }
        await list.run("served") { () throws(GigHiveError) in
            guard let path = Self.mediaPath(of: stored) else {
                return ServerCheck(.skipped, "not checked: the server does not report the media type")
            }
            guard let served = try await client.servedMedia(path) else {
                throw GigHiveError(.notFound, detail: "the media is not served").with(\.fileID, stored.fileID)
            }
            guard served.byteCount == stored.sizeBytes else {
                let length = served.byteCount.map { "with \($0) bytes" } ?? "without its length"
                throw GigHiveError(.unexpectedResponse, detail: "the media is served \(length)")
                    .with(\.fileID, stored.fileID)
            }
            return ServerCheck(.passed, path)
        }
    }

    /// `/audio/<sha256>.wav` (trap T16).
    private static func mediaPath(of stored: UploadResult) -> String? {
        guard let address = stored.mediaURL, address.hasPrefix(stored.server) else { return nil }
        return String(address.dropFirst(stored.server.count))
    }

    // MARK: Deletion

    private func delete(_ stored: UploadResult, _ control: TransferControl, _ list: inout CheckList) async {
        guard let fileID = stored.fileID else { return }
        let isDeleted = await list.run("delete") { () throws(GigHiveError) in
            do throws(GigHiveError) {
                let result = try await delete(stored, fileID, control)
                let way = result.usedAdminRights ? "with admin rights" : "by its token"
                return ServerCheck(.passed, result.state == .gone ? "\(way), without a confirmation" : way)
            } catch {
                return ServerCheck(.failed, "\(error)", facts: Self.remains(of: stored, fileID), error: error)
            }
        }
        guard isDeleted else {
            list.skip("gone", "not checked: the file was not deleted")
            return
        }
        await list.run("gone") { () throws(GigHiveError) in
            let search = Task {
                await Result(awaiting: { () async throws(GigHiveError) in
                    try await checkForRemains(of: stored, fileID)
                })
            }
            guard let finding = await end(of: search, control) else {
                let detail = "the server did not confirm the deletion"
                throw GigHiveError(.networkTimeout, detail: detail, isRetryable: true).with(\.fileID, fileID)
            }
            return try finding.get()
        }
    }

    private func delete(
        _ stored: UploadResult,
        _ fileID: Int64,
        _ control: TransferControl
    ) async throws(GigHiveError) -> DeleteResult {
        let deleter = Deleter(client: uploader.client, store: uploader.store, host: uploader.client.server.scope)
        let deletion: Task<DeleteResult, Never>
        if stored.hasDeleteToken {
            let entry = try await deleter.entry(for: fileID)
            guard entry.checksumSHA256 == stored.checksumSHA256 else {
                throw GigHiveError(.idReused, detail: "the token belongs to another upload").with(\.fileID, fileID)
            }
            deletion = Task { await deleter.delete(entry) { _ in .keep } }
        } else {
            // Without a token, only an admin can delete the file; for other users, this fails, and the error reports
            // the file.
            let target = AdminDeletion(
                fileID: fileID,
                checksumSHA256: stored.checksumSHA256 ?? "",
                sizeBytes: stored.sizeBytes
            )
            deletion = Task { await deleter.deleteAsAdmin(target) }
        }
        guard let result = await end(of: deletion, control) else {
            let detail = "no response to the deletion; repeat it with: mediactl uploads delete \(fileID)"
            throw GigHiveError(.networkTimeout, detail: detail, isRetryable: true).with(\.fileID, fileID)
        }
        if let error = result.error {
            throw error
        }
        // The file may be gone even though the response does not confirm the deletion.
        guard result.state == .deleted || result.state == .gone else {
            throw GigHiveError(.notDeleted, detail: result.state.rawValue).with(\.fileID, fileID)
        }
        return result
    }

    /// The file that a run could not delete from the server.
    private static func remains(of stored: UploadResult, _ fileID: Int64) -> [String: String] {
        var facts = [
            "left_file_id": String(fileID), "left_event_date": event.date, "left_org_name": event.organization,
        ]
        if !stored.hasDeleteToken {
            facts["left_checksum_sha256"] = stored.checksumSHA256
        }
        return facts
    }

    private func checkForRemains(of stored: UploadResult, _ fileID: Int64) async throws(GigHiveError) -> ServerCheck {
        guard try await uploader.client.asset(fileID) == nil else {
            throw GigHiveError(.notDeleted, detail: "the file is still listed").with(\.fileID, fileID)
        }
        if let path = Self.mediaPath(of: stored), try await uploader.client.servedMedia(path) != nil {
            throw GigHiveError(.notDeleted, detail: "the media is still served").with(\.fileID, fileID)
        }
        return ServerCheck(.passed, "no longer listed or served")
    }

    /// Waits for work that continues if this task is canceled; nil if it takes too long after a stop.
    private func end<Value: Sendable>(of work: Task<Value, Never>, _ control: TransferControl) async -> Value? {
        await withCheckedContinuation { continuation in
            let waiting = Mutex<CheckedContinuation<Value?, Never>?>(continuation)
            let end = { @Sendable (result: Value?) in
                waiting.withLock { $0.take() }?.resume(returning: result)
            }
            let limit = Task { [finishTime] in
                await control.waitForStop()
                try? await Task.sleep(for: finishTime)
                end(nil)
            }
            Task {
                end(await work.value)
                limit.cancel()
            }
        }
    }
}

/// A recording for one smoke test: one second of silence as WAV, made unique by the run's name in its comment.
///
/// RIFF/WAVE with `fmt `, `LIST`/`INFO` (`ICMT`) and `data` chunks; 8,000 samples of 8 bits, one channel.
enum SmokeClip {
    private static let sampleRate = 8_000

    /// A little more than 8,000 bytes. `run` is ASCII.
    static func bytes(run: String) -> [UInt8] {
        let comment = Array("INFO".utf8) + chunk("ICMT", content: Array(run.utf8) + [0])
        let format =
            word(1) + word(1) + long(sampleRate) + long(sampleRate)  // PCM, one channel, samples, bytes per second
            + word(1) + word(8)  // bytes per frame, bits per sample
        let samples = [UInt8](repeating: 0x80, count: sampleRate)
        let content =
            Array("WAVE".utf8) + chunk("fmt ", content: format) + chunk("LIST", content: comment)
            + chunk("data", content: samples)
        return chunk("RIFF", content: content)
    }

    private static func chunk(_ name: String, content: [UInt8]) -> [UInt8] {
        let padding: [UInt8] = content.count % 2 == 0 ? [] : [0]
        return Array(name.utf8) + long(content.count) + content + padding
    }

    private static func word(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }

    private static func long(_ value: Int) -> [UInt8] {
        word(value) + word(value >> 16)
    }
}
