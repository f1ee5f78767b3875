internal import Glibc
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// The link of an entry of the manifest, as found in the folder.
struct AlbumLinkPlace {
    /// Index of the entry among the elements of the manifest.
    var place: Int
    var entry: AlbumManifest.Entry
    /// The original; nil for an invalid target.
    var source: [UInt8]?
    /// The link's current name; nil if no link with this target has one of the entry's names.
    var name: [UInt8]?
}

// The order of the tape in the names of the links (tapes contract section 5). The manifest contains the old and the new
// names before the first link is renamed, so the next process can finish renaming if this one is killed. Only links in
// the manifest that still have their target are renamed, and the names of foreign files are never taken.
extension AlbumFolder {
    /// Numbers the links by the positions of their clips, and writes the playlist. Links without a clip come after the
    /// last clip, in the order of adding; an original that occurs twice has one link, at its first position.
    ///
    /// - Throws: `.insufficient`, `.unauthorized`, `.unreachable`, `.quota`, `.cancelled`; the next call resumes.
    mutating func arrange(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        _ steps: WorkSteps
    ) throws(AlbumError) {
        try checkIsOurs()
        var links = try AlbumError.accessing(links())
        try steps.next()
        let names = try AlbumError.accessing(names(of: links, for: clips))
        var isChanged = false
        for (link, name) in zip(links, names) {
            guard link.entry.link != name || link.entry.nextLink != nil else { continue }
            var entry = link.entry
            entry.link = link.name ?? name
            entry.nextLink = entry.link == name ? nil : name
            manifest.elements[link.place] = .entry(entry)
            isChanged = true
        }
        if isChanged {
            try AlbumError.accessing(writeManifest())
            TapeFailpoint.renamesPlanned.reach()
            try steps.next()
            try finishRenaming()
            links = try AlbumError.accessing(self.links())
        }
        try steps.next()
        try AlbumError.accessing(TapePlaylist.write(playlist(tape, clips, links), in: directory))
    }

    /// The playlist for the tape with these links.
    func playlist(_ tape: TapeRecord, _ clips: [ClipRecord], _ links: [AlbumLinkPlace]) -> [UInt8] {
        var names: [[UInt8]: [UInt8]] = [:]
        for link in links {
            guard let source = link.source, names[source] == nil else { continue }
            names[source] = link.name
        }
        return TapePlaylist.bytes(of: tape, clips: clips, links: names)
    }

    // MARK: Names

    /// The links of all entries, at their current names.
    func links() throws(FileWriteError) -> [AlbumLinkPlace] {
        let targets = targets
        var links: [AlbumLinkPlace] = []
        for (place, element) in manifest.elements.enumerated() {
            guard case .entry(let entry) = element else { continue }
            let source = targets.source(of: entry.target)
            let name = try name(of: entry, source, targets)
            links.append(AlbumLinkPlace(place: place, entry: entry, source: source, name: name))
        }
        return links
    }

    /// The current name of an entry's link: the new, the temporary, or the old name.
    private func name(
        of entry: AlbumManifest.Entry,
        _ source: [UInt8]?,
        _ targets: LinkTarget
    ) throws(FileWriteError) -> [UInt8]? {
        let names = entry.nextLink.map { [$0, AlbumName.parked(entry.sequence), entry.link] } ?? [entry.link]
        for name in names {
            guard let target = try directory.target(ofLink: name) else { continue }
            if target == entry.target || (source != nil && targets.source(of: target) == source) { return name }
        }
        return nil
    }

    /// The target names of the links, in the same order. A name used by a foreign file gets a number.
    func names(of links: [AlbumLinkPlace], for clips: [ClipRecord]) throws(FileWriteError) -> [[UInt8]] {
        var bySource: [[UInt8]: Int] = [:]
        for (index, link) in links.enumerated() {
            guard let source = link.source else { continue }
            if let known = bySource[source], links[known].name != nil || link.name == nil { continue }
            bySource[source] = index
        }
        var numbers: [Int: Int64] = [:]
        for (position, clip) in clips.enumerated() {
            guard let index = clip.source.flatMap({ bySource[$0] }), numbers[index] == nil else { continue }
            numbers[index] = Int64(position) + 1
        }
        let rest = links.indices.filter { numbers[$0] == nil }
            .sorted { links[$0].entry.sequence < links[$1].entry.sequence }
        for (offset, index) in rest.enumerated() { numbers[index] = Int64(clips.count + offset) + 1 }
        let ours = Set(links.compactMap(\.name))
        var names: [[UInt8]] = []
        for (index, link) in links.enumerated() {
            let source = link.source ?? link.entry.target
            var variant = 1
            var name = AlbumName.link(numbers[index] ?? 1, source: source)
            // The name of another of the album's links becomes free when that link is renamed.
            while name != link.name, !ours.contains(name), try directory.kind(of: name) != nil {
                variant += 1
                name = AlbumName.link(numbers[index] ?? 1, source: source, variant: variant)
            }
            names.append(name)
        }
        return names
    }

    // MARK: Renaming

    private struct Move {
        var place: Int
        var sequence: Int64
        var from: [UInt8]
        var to: [UInt8]
        var isDone = false
    }

    /// Renames the links to the new names in the manifest, including those planned by a process that was interrupted.
    /// Does nothing if there are no such names. An album written by a newer version is not changed.
    ///
    /// - Throws: `.insufficient`, `.unauthorized`, `.unreachable`, `.quota`; the next call resumes.
    mutating func finishRenaming() throws(AlbumError) {
        guard !manifest.isNewer, !root.marker.isNewer, manifest.entries.contains(where: { $0.nextLink != nil }) else {
            return
        }
        try AlbumError.accessing(renameAsPlanned())
    }

    private mutating func renameAsPlanned() throws(FileWriteError) {
        var moves: [Move] = []
        for link in try links() {
            guard let next = link.entry.nextLink else { continue }
            // A missing link has a name only in the manifest.
            let from = link.name ?? next
            try removeOldName(of: link)
            moves.append(
                Move(place: link.place, sequence: link.entry.sequence, from: from, to: next, isDone: from == next)
            )
        }
        try carryOut(&moves)
        try directory.synchronize()
        TapeFailpoint.linksRenamed.reach()
        for move in moves {
            guard case .entry(var entry) = manifest.elements[move.place] else { continue }
            entry.link = move.from
            entry.nextLink = nil
            manifest.elements[move.place] = .entry(entry)
        }
        try writeManifest()
    }

    /// Removes the old name: if the file system renames by adding a second name, the link may still have its first
    /// name.
    private func removeOldName(of link: AlbumLinkPlace) throws(FileWriteError) {
        guard let name = link.name, name != link.entry.link, let now = try directory.status(of: name),
            let old = try directory.status(of: link.entry.link), (now.device, now.inode) == (old.device, old.inode)
        else { return }
        try directory.remove(link.entry.link)
    }

    /// Renames each link only after the link that currently has its new name; in a cycle, one link gets a temporary
    /// name.
    private func carryOut(_ moves: inout [Move]) throws(FileWriteError) {
        var byName: [[UInt8]: Int] = [:]
        for (index, move) in moves.enumerated() where !move.isDone { byName[move.from] = index }
        for first in moves.indices where !moves[first].isDone {
            var chain = [first]
            while let last = chain.last, let blocking = byName[moves[last].to] {
                // Old and new names are unique: a cycle ends where it began.
                guard blocking != first else {
                    try park(&moves[first])
                    byName[moves[last].to] = nil
                    break
                }
                chain.append(blocking)
            }
            for index in chain.reversed() {
                byName[moves[index].from] = nil
                try complete(&moves[index])
            }
        }
    }

    private func park(_ move: inout Move) throws(FileWriteError) {
        let name = AlbumName.parked(move.sequence)
        try directory.rename(move.from, to: name)
        move.from = name
        TapeFailpoint.linkParked.reach()
    }

    /// If a foreign file has taken the new name in the meantime, the link keeps its name until it is next arranged.
    private func complete(_ move: inout Move) throws(FileWriteError) {
        move.isDone = true
        do throws(FileWriteError) {
            try directory.rename(move.from, to: move.to)
        } catch {
            switch error.kind {
            case .exists: return
            // The link was removed in the meantime: it has a name only in the manifest.
            case .io(ENOENT): move.from = move.to
            default: throw error
            }
            return
        }
        move.from = move.to
        TapeFailpoint.linkRenamed.reach()
    }
}
