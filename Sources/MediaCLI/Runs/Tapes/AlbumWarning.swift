internal import MediaStore
internal import Tapes

/// The one warning of a command about an album (rule R9).
struct AlbumWarning: Sendable, Equatable {
    var text: String
    var hint: String?

    /// What is to be said; nil when all went well.
    ///
    /// - Parameters:
    ///   - saved: What is safe whatever became of the album, for example `3 clips`.
    ///   - count: Number of those.
    ///   - outcome: What became of it; nil when a signal ended the work.
    init?(saved: String, count: Int, _ outcome: AlbumOutcome?) {
        let waits = "\(saved) saved; \(count == 1 ? "its" : "their") album was not updated"
        guard let outcome else {
            text = waits + " (interrupted) - will retry"
            return
        }
        var parts: [String] = []
        if outcome.state == .pending || outcome.state == .partly {
            let reason = Self.words(for: outcome)
            parts.append(
                outcome.state == .partly && outcome.pendingClips > 0
                    ? "\(saved) saved; \(Formats.count(outcome.pendingClips, "clip")) "
                        + "\(outcome.pendingClips == 1 ? "is" : "are") not in the album (\(reason))"
                    : waits + " (\(reason))"
            )
            if let prospect = outcome.reason?.prospect { parts[0] += " - " + prospect }
        } else if !outcome.missingPermissions.isEmpty {
            parts.append("access to the library is limited: \(Self.list(outcome.missingPermissions)) missing")
        }
        if outcome.hiddenClips > 0 {
            parts.append(
                "\(Formats.count(outcome.hiddenClips, "clip")) \(outcome.hiddenClips == 1 ? "is" : "are") in the library's "
                    + "trash, invisible until you restore \(outcome.hiddenClips == 1 ? "it" : "them") there"
            )
        }
        guard !parts.isEmpty else { return nil }
        text = parts.joined(separator: "; ")
        hint = outcome.state == .pending || outcome.state == .partly ? outcome.reason?.hint : nil
    }

    private static func words(for outcome: AlbumOutcome) -> String {
        if outcome.isAlbumDamaged { return ErrorCatalogue.clean(outcome.detail) }
        let reason = outcome.reason?.words ?? "nothing is known"
        if !outcome.missingPermissions.isEmpty { return "\(reason): \(list(outcome.missingPermissions)) missing" }
        return outcome.detail.isEmpty ? reason : "\(reason): \(ErrorCatalogue.clean(outcome.detail))"
    }

    private static func list(_ names: [String]) -> String {
        names.map { ErrorCatalogue.clean($0) }.joined(separator: ", ")
    }
}
