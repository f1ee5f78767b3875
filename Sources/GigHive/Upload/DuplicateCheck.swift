internal import MediaStore
internal import MediaTransport

/// Confirms what a server responds about bytes that it already has (gighive contract section 3): that it has exactly these
/// bytes, and whether the event of the upload has them. The response alone does not tell: D2 refuses bytes of any event, and
/// leaves the event of the refused upload empty.
struct DuplicateCheck: Sendable {
    /// The result of the check.
    enum Finding: Sendable {
        /// The event has these bytes.
        case inEvent(fileID: Int64?, ServedName)
        /// Other events have them; this one does not.
        case elsewhere(fileID: Int64?, ServedName)
        /// The server has them; whether the event does could not be checked.
        case eventUnknown(fileID: Int64, GigHiveError)
        /// The server contradicts its response.
        case contradicted(GigHiveError)
    }

    let uploader: Uploader
    let event: InventoryEvent
    let control: TransferControl

    /// Checks a refusal.
    ///
    /// - Parameters:
    ///   - reply: The 409.
    ///   - checksum: SHA-256 of the bytes sent.
    ///   - began: When the refused request began; a listing that is older does not count against the event.
    /// - Returns: What the server confirmed.
    func refusal(_ reply: UploadReply, checksum: String?, since began: ContinuousClock.Instant) async -> Finding {
        guard let fileID = reply.existingFileID else {
            return await listed(checksum, fileID: nil, ServedName(kind: nil), since: began)
        }
        if let sent = checksum, let stated = reply.checksumSHA256, stated != sent {
            return .contradicted(otherBytes(sent, stated, fileID))
        }
        var served = ServedName(kind: nil)
        // An event link gives no permission to query files.
        if uploader.options.guest == nil {
            do throws(GigHiveError) {
                guard let asset = try await uploader.client.asset(fileID) else {
                    let detail = "the server refused the file as a duplicate of \(fileID), which does not exist"
                    return .contradicted(GigHiveError(.unexpectedAnswer, detail: detail, fileID: fileID))
                }
                if let sent = checksum, let stored = asset.checksumSHA256, stored != sent {
                    return .contradicted(otherBytes(sent, stored, fileID))
                }
                served = asset.servedName
            } catch {
                // The refusal itself contains ID and digest.
                guard reply.checksumSHA256 == checksum, checksum != nil else {
                    return .eventUnknown(fileID: fileID, error)
                }
            }
        }
        // D3 refuses only files that the event itself has.
        guard reply.dialect != .assets else { return .inEvent(fileID: fileID, served) }
        return await listed(checksum, fileID: fileID, served, since: began)
    }

    private func otherBytes(_ sent: String, _ stored: String, _ fileID: Int64) -> GigHiveError {
        let detail = "the server refused \(sent) as a duplicate of other bytes, \(stored)"
        return GigHiveError(.unexpectedAnswer, detail: detail, fileID: fileID)
    }

    private func listed(
        _ checksum: String?,
        fileID: Int64?,
        _ served: ServedName,
        since began: ContinuousClock.Instant
    ) async -> Finding {
        let unlisted = GigHiveError(.unexpectedAnswer, detail: "this user cannot read the server's listing")
        guard let checksum, uploader.options.guest == nil else {
            return unknown(fileID, unlisted)
        }
        do throws(GigHiveError) {
            switch try await uploader.inventory.find(checksum, in: event, since: began, control: control) {
            case .stored(let stored) where stored.isInEvent && !stored.isOnlyInEvent:
                let detail = "the server lists the file in several events because of its label"
                return unknown(stored.fileID, GigHiveError(.unexpectedAnswer, detail: detail))
            case .stored(let stored) where stored.isInEvent:
                return .inEvent(fileID: stored.fileID, stored.served)
            case .stored(let stored):
                return .elsewhere(fileID: stored.fileID, stored.served)
            case .absent where fileID == nil:
                let detail = "the server refused the file as a duplicate, and does not list it"
                return .contradicted(GigHiveError(.unexpectedAnswer, detail: detail))
            case .absent:
                return .elsewhere(fileID: fileID, served)
            case .unavailable:
                return unknown(fileID, await uploader.inventory.refusal ?? unlisted)
            }
        } catch {
            return unknown(fileID, error)
        }
    }

    private func unknown(_ fileID: Int64?, _ reason: GigHiveError) -> Finding {
        guard let fileID else { return .contradicted(reason) }
        return .eventUnknown(fileID: fileID, reason)
    }

    /// What a success without delete token is: usually the server had the bytes already, and added them to the event (D3) or
    /// counted one more number for them (D1). Only what the server shows decides; a server may also send no token.
    ///
    /// - Parameters:
    ///   - reply: The 201.
    ///   - checksum: SHA-256 of the bytes sent.
    ///   - began: When the request began.
    /// - Returns: `linked` or `duplicate`; nil where the server does not show that it had the bytes.
    func state(
        ofTokenless reply: UploadReply,
        checksum: String?,
        since began: ContinuousClock.Instant
    ) async -> UploadState? {
        guard uploader.options.guest == nil, reply.guest == nil, let fileID = reply.fileID else { return nil }
        switch reply.dialect {
        case nil: return nil
        case .assets?:
            guard let checksum,
                case .stored(let stored) = try? await uploader.inventory.find(
                    checksum,
                    in: event,
                    since: began,
                    control: control
                )
            else { return nil }
            return stored.fileID == fileID && stored.isInSeveralEvents ? .linked : nil
        case .sessions?:
            guard let asset = try? await uploader.client.asset(fileID), let session = asset.sessionID else {
                return nil
            }
            guard session == reply.eventID else { return wasLinkedFromHere(fileID, checksum) ? .duplicate : .linked }
            // The file keeps its first number.
            return asset.sequence == reply.stored?.position ? nil : .duplicate
        }
    }

    /// Whether an earlier upload from this machine has added a file to the event; the response is the same both times.
    private func wasLinkedFromHere(_ fileID: Int64, _ checksum: String?) -> Bool {
        guard let checksum,
            let earlier = try? uploader.store.uploads(checksumSHA256: checksum, host: uploader.client.server.scope)
        else { return false }
        return earlier.contains { row in
            let fields = Dictionary(row.fields.map { ($0.name, $0.value) }) { first, _ in first }
            return row.fileID == fileID && row.state.isStored
                && InventoryEvent(date: fields["event_date"] ?? "", orgName: fields["org_name"] ?? "") == event
        }
    }
}
