internal import MediaCore

#if DEBUG || TESTABLE
    import MediaFiles
    @testable import MediaTransport
    @testable import Tapes

    /// Libraries of tapes: files in a folder that others also write to, and the responses of an Immich server.
    enum LibraryEntry {
        static func check(_ bytes: [UInt8]) -> String? {
            checkManifest(bytes) ?? checkResponses(bytes) ?? checkPrograms(bytes)
        }

        /// No link may point outside the album, and a written manifest must parse to the same values.
        private static func checkManifest(_ bytes: [UInt8]) -> String? {
            guard let manifest = AlbumManifest(bytes) else { return nil }
            for entry in manifest.entries {
                guard !entry.link.isEmpty, !entry.link.contains(0x2f), !entry.link.contains(0),
                    entry.link != Array("..".utf8), entry.sequence < manifest.nextSequence
                else { return "an invalid link: \(entry)" }
                let target = LinkTarget(folder: Array("/pictures/album".utf8), pictures: Array("/pictures".utf8))
                if let source = target.source(of: entry.target), source.first != 0x2f { return "a relative original" }
            }
            guard let again = AlbumManifest(manifest.text), again.text == manifest.text,
                again.entries.count == manifest.entries.count, again.nextSequence == manifest.nextSequence
            else { return "a manifest that does not round-trip" }
            return nil
        }

        private static func checkResponses(_ body: [UInt8]) -> String? {
            let key = "canary-API-KEY"
            KnownSecrets.add(key)
            for status in [301, 400, 401, 403, 404, 500] {
                let head = HTTPResponseHead(status: status, headers: [HTTPHeader("Content-Type", "application/json")])
                let refusal = ImmichRefusal(HTTPResponse(head: head, body: body, metrics: TransferMetrics()))
                let error = refusal.error
                guard !error.detail.contains(key), Shape.isShort(refusal.sentence) else {
                    return "an invalid message: \(error.detail)"
                }
            }
            guard let value = JSONReader.value(of: body[...]) else { return nil }
            if let album = ImmichAlbum(value) { _ = (album.carries("mediactl tape 1"), album.made) }
            if var grant = ImmichGrant(key: value) {
                grant.add(user: value)
                _ = (grant.state(of: .readWrite), grant.fingerprint(at: "https://photos.example.org"))
            }
            return nil
        }

        /// ffmpeg and ffprobe output contains text from the media file.
        private static func checkPrograms(_ bytes: [UInt8]) -> String? {
            if let probe = MediaProbe(bytes), (probe.milliseconds ?? 0) < 0 || (probe.videoMilliseconds ?? 0) < 0 {
                return "a negative length: \(probe)"
            }
            let report = FFmpegReport { _ in }
            let half = bytes.count / 2
            report.read(bytes[..<half])
            report.read(bytes[half...])
            return nil
        }
    }
#endif
