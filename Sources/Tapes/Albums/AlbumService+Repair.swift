internal import MediaFiles
public import MediaStore

// Finds manual changes and leftovers from killed processes by comparing albums with their tapes, and repairs them only
// on request.
extension AlbumService {
    /// Compares the names in a tape's album with its clips, without waiting and without searching for the album.
    ///
    /// - Returns: The differences; nil if there is no album, or its library cannot be read.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func look(at tape: TapeRecord, _ clips: [ClipRecord]) async throws(TapesError) -> [AlbumFinding]? {
        guard policy.isEnabled, let link = try knownLink(of: tape.id) else { return nil }
        do throws(AlbumError) {
            return try await library.check(link.albumID, hint: link.hint, tape: tape, clips: clips, isThorough: false)
        } catch {
            switch error.kind {
            case .cancelled: throw TapesError(.cancelled, underlying: error)
            case .albumMissing: return [AlbumFinding(kind: .albumMissing, path: link.hint)]
            case .albumDamaged: return [AlbumFinding(kind: .albumUnreadable, path: link.hint, detail: error.detail)]
            default: return nil
            }
        }
    }

    /// Compares a tape with its album and its originals without changing anything. Requires `.readWrite`, except for a
    /// tape without an album in the library, whose clips are all pending.
    ///
    /// - Throws: `TapesError` `.albumsOff`, `.tapeNotFound`, `.libraryUnusable`, `.storeUnusable`, `.cancelled`.
    public func verify(_ tapeID: String) async throws(TapesError) -> AlbumCheck {
        guard policy.isEnabled else { throw TapesError(.albumsOff) }
        let opened = try await openIfLinked(tapeID)
        let (found, clips, link) = try await locked(tapeID) { () async throws(TapesError) in
            try await usable { try await check(tapeID, opened) }
        }
        // Read without the lock, so other commands need not wait for it.
        let missing = Set(found.findings.filter { $0.kind == .originalMissing }.compactMap(\.path))
        let needed = needingOriginals(clips, hasAlbum: link != nil)
            .filter { clip in clip.source.map { !missing.contains($0) } ?? false }
        let changed = try await OriginalReading.changed(among: needed)
        var result = found
        result.findings += needed.filter { changed.contains($0.id) }
            .map { AlbumFinding(kind: .originalChanged, clip: $0, path: $0.source) }
        return result
    }

    /// - Returns: nil for a tape without an album in this library.
    private func openIfLinked(_ tapeID: String) async throws(TapesError) -> OpenLibrary? {
        guard try knownLink(of: tapeID) != nil else { return nil }
        return try await usable { try await open(.readWrite) }
    }

    private func check(
        _ tapeID: String,
        _ opened: OpenLibrary?
    ) async throws -> (check: AlbumCheck, clips: [ClipRecord], link: AlbumLink?) {
        guard let tape = try store.tape(tapeID) else { throw TapesError(.tapeNotFound, value: tapeID) }
        let clips = try store.clips(of: tapeID)
        let link = try store.albumLinks(of: tapeID).first { $0.libraryID == opened?.id }
        var findings = clips.compactMap { clip -> AlbumFinding? in
            switch clip.association {
            case .failed: AlbumFinding(kind: .clipFailed, clip: clip)
            case .linked where link != nil: nil
            case .pending, .unlinkable, .linked: AlbumFinding(kind: .clipPending, clip: clip)
            }
        }
        findings += try await missingOriginals(of: clips, hasAlbum: link != nil)
        guard let link, let opened else {
            return (AlbumCheck(tape: tape, hasAlbum: false, findings: findings), clips, nil)
        }
        let linked = Set(try linkedAssets(of: clips, in: link).map(\.asset))
        do throws(AlbumError) {
            switch try await library.album(link.albumID, hint: link.hint) {
            case .found(_, let hint, let count):
                let hint = hint ?? link.hint
                if let detail = try await absence(of: linked, in: link.albumID, count: count) {
                    findings.append(AlbumFinding(kind: .assetsMissing, path: hint, detail: detail))
                }
                findings += try await library.check(
                    link.albumID,
                    hint: hint,
                    tape: tape,
                    clips: clips,
                    isThorough: true
                )
            case .missing: throw AlbumError(.albumMissing)
            case .damaged(let detail): throw AlbumError(.albumDamaged, detail: detail)
            case .unknown: findings.append(AlbumFinding(kind: .albumUnknown, path: link.hint))
            }
        } catch {
            switch error.kind {
            case .albumMissing:
                try await confirm(opened)
                findings.append(AlbumFinding(kind: .albumMissing, path: link.hint))
            case .albumDamaged:
                findings.append(AlbumFinding(kind: .albumUnreadable, path: link.hint, detail: error.detail))
            default: throw error
            }
        }
        return (AlbumCheck(tape: tape, hasAlbum: true, findings: findings), clips, link)
    }

    /// How many assets are missing from an album, in words; nil if none are missing. Only `count`, the number of assets
    /// in the album, excludes those in the trash.
    private func absence(
        of assets: Set<[UInt8]>,
        in albumID: String,
        count: Int?
    ) async throws(AlbumError) -> String? {
        if let count, count < assets.count { return "the album has \(count) of \(assets.count)" }
        guard let present = try await library.contained(Array(assets), in: albumID), present.count < assets.count
        else { return nil }
        let others = max(0, (count ?? 0) - present.count)
        return "the album has \(present.count) of \(assets.count)"
            + (others > 0 ? ", and \(others) that are not in the tape" : "")
    }

    /// The clips in the album, with their assets; several clips can have one asset.
    private func linkedAssets(
        of clips: [ClipRecord],
        in link: AlbumLink
    ) throws(TapesError) -> [(clip: ClipRecord, asset: [UInt8])] {
        let assets = try stored(store.clipAssets(of: link.tapeID, in: link.libraryID))
        return clips.compactMap { clip in
            guard clip.association == .linked, let asset = assets[clip.id] else { return nil }
            return (clip, asset)
        }
    }

    /// Adds the assets of linked clips again. Clips whose assets are no longer in the library become pending.
    private func restoreAssets(of clips: [ClipRecord], in link: AlbumLink) async throws {
        let linked = try linkedAssets(of: clips, in: link)
        let assets = linked.map { AlbumAsset(id: $0.asset, kind: $0.clip.kind) }
        let results = try await library.add(assets, to: link.albumID, hint: link.hint)
        let lost = zip(linked, results).filter { [.notAllowed, .notFound].contains($0.1) }
            .map { ClipOutcome(clipID: $0.0.clip.id, association: .pending) }
        try store.recordOutcomes(lost, in: link.libraryID, at: now())
        for case .notNow(let error) in results { throw error }
    }

    /// A clip in an album that has its own copies does not need its original.
    private func needingOriginals(_ clips: [ClipRecord], hasAlbum: Bool) -> [ClipRecord] {
        clips.filter { library.linksToOriginals || !hasAlbum || $0.association != .linked }
    }

    private func missingOriginals(
        of clips: [ClipRecord],
        hasAlbum: Bool
    ) async throws(TapesError) -> [AlbumFinding] {
        let needed = needingOriginals(clips, hasAlbum: hasAlbum)
        let missing = try await OriginalReading.missing(among: needed.flatMap(\.originals))
        return needed.flatMap { clip in
            clip.originals.filter(missing.contains).map {
                AlbumFinding(kind: .originalMissing, clip: clip, path: $0)
            }
        }
    }

    /// Repairs the album of a tape, and confirms the repair by a second check: restores links, numbers and playlist,
    /// adds pending and failed clips and missing assets, removes links with neither clip nor original, and recreates a
    /// missing album. Requires `.readWrite`. A tape without an album does not get one: `reconcile` creates it.
    ///
    /// - Throws: `TapesError` `.albumsOff`, `.tapeNotFound`, `.libraryUnusable`, `.storeUnusable`, `.cancelled`.
    public func repair(_ tapeID: String) async throws(TapesError) -> AlbumRepair {
        guard policy.isEnabled else { throw TapesError(.albumsOff) }
        let opened = try await openIfLinked(tapeID)
        let (before, failure) = try await locked(tapeID) { () async throws(TapesError) in
            try await usable { try await mend(tapeID, opened) }
        }
        var reason = failure
        let isIncomplete = before.findings.contains { finding in
            finding.isOfAbsentClip || [.albumMissing, .assetsMissing].contains(finding.kind)
        }
        if before.hasAlbum, isIncomplete {
            let outcome = try await attempt(tapeID, isRequested: true).outcome
            if outcome.state != .associated, let why = outcome.reason {
                reason = AlbumFailure(why, detail: outcome.detail)
            }
        }
        let after = try await verify(tapeID)
        let repaired = before.findings.filter { old in !after.findings.contains { old.isSame(as: $0) } }
        return AlbumRepair(
            tape: after.tape,
            hasAlbum: after.hasAlbum,
            repaired: repaired,
            remaining: after.findings,
            reason: after.findings.isEmpty ? nil : reason?.reason,
            detail: after.findings.isEmpty ? "" : reason?.detail ?? ""
        )
    }

    /// - Returns: The differences found before the repair, and the failure that stopped it, if any.
    private func mend(_ tapeID: String, _ opened: OpenLibrary?) async throws -> (AlbumCheck, AlbumFailure?) {
        let (check, clips, link) = try await check(tapeID, opened)
        guard let link, let opened else { return (check, nil) }
        let failed = check.findings.compactMap { $0.kind == .clipFailed ? $0.clip : nil }
        try store.recordOutcomes(
            failed.map { ClipOutcome(clipID: $0.id, association: .pending) },
            in: opened.id,
            at: now()
        )
        let isPresent = !check.findings.contains { [.albumMissing, .albumUnreadable, .albumUnknown].contains($0.kind) }
        let dead = check.findings.compactMap { $0.kind == .originalMissing && $0.clip == nil ? $0.other : nil }
        guard isPresent, check.findings.contains(where: { !$0.isOfAbsentClip && check.isRepairable($0) }) else {
            return (check, nil)
        }
        do {
            if check.findings.contains(where: { $0.kind == .assetsMissing }) {
                try await restoreAssets(of: clips, in: link)
            }
            _ = try await library.remove(dead, from: link.albumID, hint: link.hint)
            try await library.mend(link.albumID, hint: link.hint, tape: check.tape, clips: clips)
            report(.reuse, tapeID, album: link.albumID, "repaired")
            return (check, nil)
        } catch {
            let failure = try AlbumFailure(caught: error)
            report(.pending, tapeID, album: link.albumID, failure.reason.rawValue, details: failure.detail)
            return (check, failure)
        }
    }

    // MARK: Leftovers

    /// Finds leftovers from killed processes in the library outside albums, without changing anything. Returns an empty
    /// array if the library was never used.
    ///
    /// - Throws: `TapesError` `.libraryUnusable`, `.storeUnusable`, `.cancelled`.
    public func leftovers() async throws(TapesError) -> [AlbumFinding] {
        guard policy.isEnabled, try record()?.libraryID != nil else { return [] }
        return try await usable { try await library.leftovers() }
    }

    /// Removes leftovers, and returns those that remain.
    ///
    /// - Throws: `TapesError` `.libraryUnusable`, `.storeUnusable`, `.cancelled`.
    public func removeLeftovers(_ leftovers: [AlbumFinding]) async throws(TapesError) -> [AlbumFinding] {
        guard policy.isEnabled, !leftovers.isEmpty else { return [] }
        return try await usable {
            try await library.removeLeftovers(leftovers)
            return try await library.leftovers().filter { found in leftovers.contains { $0.isSame(as: found) } }
        }
    }
}
