internal import GigHive
internal import MediaStore
internal import MediaTransport

/// A guest's upload that is to be taken back. Its server hides it and keeps the file (gighive contract section 6).
struct GuestHiding: Sendable {
    enum State: String, Sendable {
        case hidden
        case planned
        case declined
        case failed
    }

    var upload: KeptUpload
    var record: UploadRecord
    var state = State.planned
    var error: (any Error)?

    var exitCode: ExitCode {
        switch state {
        case .hidden, .planned: .success
        case .declined: .failure
        case .failed: error.map { ErrorCatalogue.diagnosis(of: $0).exitCode } ?? .failure
        }
    }

    /// The same with an end.
    func ending(_ state: State, _ error: (any Error)? = nil) -> GuestHiding {
        var hiding = self
        hiding.state = state
        hiding.error = error
        return hiding
    }

    /// Hides it. It is sent once; a repeat could not be told from a refusal.
    func perform(store: TokenStore, servers: ServerSession) async -> GuestHiding {
        do {
            guard let receipt = try store.guestReceipt(record.uploadID) else {
                throw GigHiveError(.noDeleteToken, fileID: upload.fileID)
            }
            let client = await servers.anonymousClient(for: try ServerURL(record.baseURL))
            try await client.guestHide(receipt)
            try await store.note(record.uploadID, UploadChange(failureCode: UploadRecord.hidden))
            return ending(.hidden)
        } catch let error as GigHiveError where error.code == .forbidden {
            return ending(.failed, refusal(error))
        } catch {
            return ending(.failed, error)
        }
    }

    private func refusal(_ error: GigHiveError) -> Diagnosis {
        Diagnosis(
            error.code.rawValue,
            "the server does not hide \(upload.fileID): it is not approved yet, or was hidden before",
            hint: "mediactl uploads status shows what the organiser has decided",
            exitCode: .unauthorized,
            httpStatus: error.httpStatus
        )
    }
}

extension DeletionPlan {
    /// A guest's upload with this number, when it is the newest that is known of it.
    ///
    /// - Throws: `StoreError`.
    func guestUpload(for fileID: Int64) throws -> GuestHiding? {
        let scope = host ?? (isServerNamed ? server?.scope : nil)
        let guests = try store.guestUploads(host: scope).filter { $0.fileID == fileID && $0.isHeldForGuest }
        guard let record = guests.first, let upload = KeptUpload(guest: record) else { return nil }
        let others = try store.tokens(host: scope).filter { $0.fileID == fileID }
        // A guest may have been given a token too, but has no login to use it with.
        let isNewest = others.allSatisfy {
            $0.host == record.host && ($0.checksumSHA256 == record.checksumSHA256 || $0.createdAt < record.createdAt)
        }
        return isNewest ? GuestHiding(upload: upload, record: record) : nil
    }
}
