internal import MediaStore

/// What the library is, and what it allows.
extension AlbumService {
    /// Which library this is, and what it allows. Changes nothing. With albums off nobody is asked.
    ///
    /// - Returns: What is known.
    /// - Throws: `TapesError` `.cancelled`.
    public func status() async throws(TapesError) -> LibraryStatus {
        var status = LibraryStatus(kind: library.kind, address: library.address)
        guard policy.isEnabled else {
            status.detail = "albums are off"
            return status
        }
        do throws(AlbumError) {
            status.addOnly = try await library.access(.addOnly)
            status.readWrite = try await library.access(.readWrite)
            guard status.addOnly?.state != .notDetermined else { return status }
            status.identity = try await library.identity()
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled, underlying: error) }
            status.reason = error.reason(refusal: .internalError)
            status.detail = error.detail
        }
        return status
    }

    /// Asks for access anew (`library init`, `library grant`), and forgets what it was refused with (rule R10).
    ///
    /// - Parameter level: What is to be allowed.
    /// - Returns: What is known afterwards.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func requestAccess(_ level: AccessLevel) async throws(TapesError) -> LibraryStatus {
        guard policy.isEnabled else { return try await status() }
        try forgetRefusal()
        var trouble: AlbumError?
        do throws(AlbumError) {
            _ = try await library.requestAccess(level)
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled, underlying: error) }
            trouble = error
        }
        var status = try await status()
        if let trouble {
            status.reason = trouble.reason(refusal: .internalError)
            status.detail = trouble.detail
        } else if let identity = status.identity, let access = status.addOnly, access.isGranted {
            let id = try record().flatMap(identity.knownID) ?? identity.libraryID
            try keep(OpenLibrary(id: id, access: access, identity: identity), isGranted: true)
        }
        return status
    }
}

extension AlbumAccess {
    /// Whether anything is allowed: a library that refuses is not the one that was there at the last success.
    fileprivate var isGranted: Bool {
        switch state {
        case .authorized, .limited: true
        case .notDetermined, .restricted, .denied: false
        }
    }
}
