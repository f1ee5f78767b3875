public import Foundation
public import MediaStore

/// Tapes and their clips, without albums: what commands do to a tape before the album service hears of it. Never touches an
/// original.
public struct TapeEditor: Sendable {
    /// Keeps tapes and clips.
    public let store: LibraryStore
    /// This machine's clock.
    public let now: @Sendable () -> Date

    /// Makes an editor.
    public init(store: LibraryStore, now: @escaping @Sendable () -> Date = { Date() }) {
        self.store = store
        self.now = now
    }

    // MARK: Naming

    /// The one tape that a user means by id, prefix of an id (4 characters at least) or exact title.
    ///
    /// - Parameter name: As the user wrote it.
    /// - Returns: The tape.
    /// - Throws: `TapesError` `.tapeNotFound`, `.tapeAmbiguous` with the ids, `.storeUnusable`.
    public func tape(named name: String) throws(TapesError) -> TapeRecord {
        let tapes = try stored { () throws(StoreError) in try store.tapes(named: name) }
        guard let tape = tapes.first else { throw TapesError(.tapeNotFound, value: name) }
        guard tapes.count == 1 else { throw TapesError(.tapeAmbiguous, value: name, candidates: tapes.map(\.id)) }
        return tape
    }

    /// The one clip of a tape that a user means by id, prefix of an id (4 characters at least), or `#N`, its place from 1.
    ///
    /// - Parameters:
    ///   - name: As the user wrote it.
    ///   - tape: Its tape.
    /// - Returns: The clip.
    /// - Throws: `TapesError` `.clipNotFound` (with the ids when a prefix has several), `.storeUnusable`.
    public func clip(named name: String, of tape: TapeRecord) throws(TapesError) -> ClipRecord {
        let clips = try stored { () throws(StoreError) in try store.clips(of: tape.id) }
        if name.hasPrefix("#") {
            guard let place = Int(name.dropFirst()), clips.indices.contains(place - 1) else {
                throw TapesError(.clipNotFound, detail: "the tape has \(clips.count) clips", value: name)
            }
            return clips[place - 1]
        }
        let id = name.lowercased()
        let meant = clips.filter { $0.id == id || (id.utf8.count >= 4 && $0.id.hasPrefix(id)) }
        guard meant.count == 1, let clip = meant.first else {
            throw TapesError(.clipNotFound, value: name, candidates: meant.map(\.id))
        }
        return clip
    }

    // MARK: Tapes

    /// Makes a tape. A title of blanks becomes `New Tape`.
    ///
    /// - Parameter title: Blanks around it are cut off.
    /// - Returns: The tape.
    /// - Throws: `TapesError` `.storeUnusable`.
    public func create(title: String) throws(TapesError) -> TapeRecord {
        let title = title.trimmingCharacters(in: .whitespacesAndNewlines)
        let new = TapeRecord(
            id: UUID().uuidString.lowercased(),
            title: title.isEmpty ? TapeRecord.untitled : title,
            createdAt: now()
        )
        let kept = try stored { () throws(StoreError) in
            try store.create(new)
            // Its times are kept to the millisecond.
            return try store.tape(new.id)
        }
        return kept ?? new
    }

    /// Gives a tape another title; its album keeps the one it has (rule R8).
    ///
    /// - Parameters:
    ///   - tape: The tape.
    ///   - title: Blanks around it are cut off.
    /// - Returns: The tape as it is now.
    /// - Throws: `TapesError` `.titleEmpty`, `.tapeNotFound`, `.storeUnusable`.
    public func rename(_ tape: TapeRecord, to title: String) throws(TapesError) -> TapeRecord {
        let title = title.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !title.isEmpty else { throw TapesError(.titleEmpty) }
        return try change(tape) { $0.title = title }
    }

    /// Copies a tape and its clips (rule R17).
    ///
    /// - Returns: The copy.
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`.
    public func duplicate(_ tape: TapeRecord) throws(TapesError) -> TapeRecord {
        let copy = try stored { () throws(StoreError) in try store.duplicateTape(tape.id, at: now()) }
        guard let copy else { throw TapesError(.tapeNotFound, value: tape.id) }
        return copy
    }

    func change(_ tape: TapeRecord, _ change: (inout TapeRecord) -> Void) throws(TapesError) -> TapeRecord {
        let changed = try stored { () throws(StoreError) in try store.changeTape(tape.id, at: now(), change) }
        guard let changed else { throw TapesError(.tapeNotFound, value: tape.id) }
        return changed
    }

    // MARK: Clips

    /// Commits clips (step 2 of rule R2): from here on nothing undoes them.
    ///
    /// - Parameters:
    ///   - clips: From `inspect`.
    ///   - tape: A tape.
    ///   - position: Clamped to 0…count; nil is the end.
    /// - Returns: The clips as kept.
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`.
    public func add(
        _ clips: [ClipRecord],
        to tape: TapeRecord,
        at position: Int? = nil
    ) throws(TapesError) -> [ClipRecord] {
        let kept = try stored { () throws(StoreError) in
            try store.addClips(clips, to: tape.id, at: position, now: now())
        }
        guard let kept else { throw TapesError(.tapeNotFound, value: tape.id) }
        return kept
    }

    /// Moves a clip; the position, from 0, is clamped.
    ///
    /// - Returns: Where it is now.
    /// - Throws: `TapesError` `.clipNotFound`, `.storeUnusable`.
    public func move(_ clip: ClipRecord, to position: Int) throws(TapesError) -> Int {
        let place = try stored { () throws(StoreError) in
            try store.moveClip(clip.id, of: clip.tapeID, to: position, now: now())
        }
        guard let place else { throw TapesError(.clipNotFound, value: clip.id) }
        return place
    }

    /// The store's trouble is `.storeUnusable`.
    @discardableResult
    func stored<Value>(_ body: () throws(StoreError) -> Value) throws(TapesError) -> Value {
        do { return try body() } catch { throw TapesError(error) }
    }
}
