internal import MediaStore
internal import MediaTransport

/// Confirms what a server responds about bytes that it already has (gighive contract section 3): that it has exactly these
/// bytes, and whether the event of the upload has them. The response alone does not tell: D2 refuses bytes of any event, and
/// leaves the event of the refused upload empty.
struct DuplicateCheck: Sendable {
    /// What the server confirmed.
    enum Finding: Sendable {
        /// The event has these bytes.
        case inEvent(fileID: Int64?, fileType: String?)
        /// Other events have them; this one does not.
        case elsewhere(fileID: Int64?, fileType: String?)
        /// The server has them; whether the event does could not be checked.
        case eventUnknown(fileID: Int64, GigHiveError)
        /// The server contradicts its own response.
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
    func refusal(_ reply: UploadReply, checksum: String?, since began: ContinuousClock.Instant) async -> Finding {
        guard let fileID = reply.existingFileID else {
            return await listed(checksum, fileID: nil, fileType: nil, since: began)
        }
        if let sent = checksum, let stated = reply.checksumSHA256, stated != sent {
            return .contradicted(otherBytes(sent, stated, fileID))
        }
        var fileType: String?
        // An event link gives no right to ask for files.
        if uploader.options.guest == nil {
            do throws(GigHiveError) {
                guard let asset = try await uploader.client.asset(fileID) else {
                    let detail = "the server refused the file as a duplicate of \(fileID), which does not exist"
                    return .contradicted(GigHiveError(.unexpectedAnswer, detail: detail, fileID: fileID))
                }
                if let sent = checksum, let stored = asset.checksumSHA256, stored != sent {
                    return .contradicted(otherBytes(sent, stored, fileID))
                }
                fileType = asset.fileType
            } catch {
                // The refusal itself names id and digest.
                guard reply.checksumSHA256 == checksum, checksum != nil else {
                    return .eventUnknown(fileID: fileID, error)
                }
            }
        }
        // D3 refuses only what the event itself has.
        guard reply.dialect != .assets else { return .inEvent(fileID: fileID, fileType: fileType) }
        return await listed(checksum, fileID: fileID, fileType: fileType, since: began)
    }

    private func otherBytes(_ sent: String, _ stored: String, _ fileID: Int64) -> GigHiveError {
        let detail = "the server refused \(sent) as a duplicate of other bytes, \(stored)"
        return GigHiveError(.unexpectedAnswer, detail: detail, fileID: fileID)
    }

    private func listed(
        _ checksum: String?,
        fileID: Int64?,
        fileType: String?,
        since began: ContinuousClock.Instant
    ) async -> Finding {
        let unlisted = GigHiveError(.unexpectedAnswer, detail: "this user cannot read the server's listing")
        guard let checksum, uploader.options.guest == nil else {
            return unknown(fileID, unlisted)
        }
        do throws(GigHiveError) {
            switch try await uploader.inventory.find(checksum, in: event, since: began, control: control) {
            case .stored(let stored) where stored.isInEvent && !stored.isOnlyInEvent:
                let detail = "the server lists the file in several events that have the same label"
                return unknown(stored.fileID, GigHiveError(.unexpectedAnswer, detail: detail))
            case .stored(let stored) where stored.isInEvent:
                return .inEvent(fileID: stored.fileID, fileType: stored.fileType)
            case .stored(let stored):
                return .elsewhere(fileID: stored.fileID, fileType: stored.fileType)
            case .absent where fileID == nil:
                let detail = "the server refused the file as a duplicate, and does not list it"
                return .contradicted(GigHiveError(.unexpectedAnswer, detail: detail))
            case .absent:
                return .elsewhere(fileID: fileID, fileType: fileType)
            case .unavailable:
                return unknown(fileID, unlisted)
            }
        } catch {
            return unknown(fileID, error)
        }
    }

    private func unknown(_ fileID: Int64?, _ reason: GigHiveError) -> Finding {
        guard let fileID else { return .contradicted(reason) }
        return .eventUnknown(fileID: fileID, reason)
    }

    /// What a success without delete token is: the server had the bytes already.
    ///
    /// D3 adds them to the event. D1 counts one more number in any case; its own record of the file tells whether the event
    /// had it before.
    ///
    /// - Returns: `.linked` or `.duplicate`; nil for a response of no known release.
    func state(ofTokenless reply: UploadReply) async -> UploadState? {
        switch reply.dialect {
        case nil: return nil
        case .assets?: return .linked
        case .sessions?:
            guard uploader.options.guest == nil, let fileID = reply.fileID,
                let asset = try? await uploader.client.asset(fileID), let first = asset.sessionID
            else { return .linked }
            return first == reply.eventID ? .duplicate : .linked
        }
    }
}
