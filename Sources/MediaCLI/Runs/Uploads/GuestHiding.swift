internal import Foundation
internal import GigHive
internal import MediaStore
internal import MediaTransport

/// A guest upload to hide. Its server keeps the file (gighive contract section 6).
struct GuestHiding: Sendable {
    enum State: String, Sendable {
        case hidden
        case planned
        case declined
        case failed
    }

    /// With its last known state.
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

    /// The same, refused if its last known state does not allow hiding it.
    func judged() -> GuestHiding {
        guard let known = upload.guestState, !known.mayBeHidden else { return self }
        return ending(.failed, refusal(known))
    }

    /// Queries the server for the state and stores it; then as `judged`. An upload hidden from here is not queried:
    /// the server still reports it as approved (gighive contract section 6).
    func asking(store: TokenStore, servers: ServerSession, now: Date) async -> GuestHiding {
        guard upload.guestState != .hidden else { return judged() }
        do {
            guard let receipt = try store.guestReceipt(record.uploadID) else {
                throw GigHiveError(.noDeleteToken, fileID: upload.fileID)
            }
            let client = try await servers.guestClient(for: try ServerURL(record.baseURL))
            guard let status = try await client.guestStatus(receipt) else { return ending(.failed, unknown) }
            var asked = self
            let state = GuestState(status.state)
            asked.upload.guestState = state
            asked.upload.guestStateAt = now
            try store.note(GuestStanding(state: state.rawValue, notedAt: now), of: record.uploadID)
            return asked.judged()
        } catch {
            return ending(.failed, error)
        }
    }

    /// Hides it. It is sent once; a repeat could not be told from a refusal.
    func perform(store: TokenStore, servers: ServerSession, now: Date) async -> GuestHiding {
        do {
            guard let receipt = try store.guestReceipt(record.uploadID) else {
                throw GigHiveError(.noDeleteToken, fileID: upload.fileID)
            }
            let client = try await servers.guestClient(for: try ServerURL(record.baseURL))
            try await client.guestHide(receipt)
            try await store.note(record.uploadID, UploadChange(failureCode: UploadRecord.hidden))
            try store.note(GuestStanding(state: GuestState.hidden.rawValue, notedAt: now), of: record.uploadID)
            return ending(.hidden)
        } catch let error as GigHiveError where error.code == .forbidden {
            return ending(.failed, refusal(upload.guestState, error))
        } catch {
            return ending(.failed, error)
        }
    }

    private func refusal(_ known: GuestState?, _ error: GigHiveError? = nil) -> Diagnosis {
        guard known != .hidden else {
            return Diagnosis(
                "already_hidden",
                "\(upload.fileID) is already hidden; the server keeps the file",
                exitCode: .conflict
            )
        }
        let reason =
            switch known {
            case .pending?: "it is pending, and only an approved upload can be hidden"
            case .rejected?: "the organizer has rejected it, and only an approved upload can be hidden"
            default: "only an approved upload can be hidden"
            }
        return Diagnosis(
            GigHiveError.Code.forbidden.rawValue,
            "cannot hide \(upload.fileID): \(reason)",
            hint: "mediactl uploads status",
            exitCode: .unauthorized,
            httpStatus: error?.httpStatus
        )
    }

    private var unknown: Diagnosis {
        Diagnosis(
            GigHiveError.Code.notFound.rawValue,
            "cannot hide \(upload.fileID): the server no longer has this guest upload",
            exitCode: .notFound
        )
    }
}

extension DeletionPlan {
    /// A guest's upload with this number, when it is the newest that is known of it.
    ///
    /// - Throws: `StoreError`.
    func guestUpload(for fileID: Int64) throws -> GuestHiding? {
        let scope = host ?? (isServerNamed ? server?.scope : nil)
        let guests = try store.guestUploads(host: scope, fileID: fileID).filter(\.isStoredForGuest)
        guard let record = guests.first,
            let upload = KeptUpload(guest: record, try store.guestStandings()[record.uploadID])
        else { return nil }
        let others = try store.tokens(fileID: fileID, host: scope)
        // A guest may have been given a token too, but has no login to use it with.
        let isNewest = others.allSatisfy {
            $0.host == record.host && ($0.checksumSHA256 == record.checksumSHA256 || $0.createdAt < record.createdAt)
        }
        return isNewest ? GuestHiding(upload: upload, record: record) : nil
    }
}
