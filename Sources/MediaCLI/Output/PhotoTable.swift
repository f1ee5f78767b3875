internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import Synchronization

/// A list of photos of any length, shown a block at a time in columns of fixed width, so that memory stays flat.
final class PhotoTable: Sendable {
    private let console: Console
    /// The id of this machine's device.
    private let device: String?
    private let isGone: Bool
    private let shown = Mutex(0)

    init(_ console: Console, device: String?, isGone: Bool = false) {
        self.console = console
        self.device = device
        self.isGone = isGone
    }

    /// Photos shown so far.
    var count: Int { shown.withLock { $0 } }

    /// Shows a block.
    func show(_ photos: [PhotoRecord]) {
        let isFirst = shown.withLock { shown in
            defer { shown += photos.count }
            return shown == 0
        }
        for photo in photos {
            console.record(.item, JSONRenderer.photo(photo, device: device, isGone: isGone))
        }
        console.text(lines(photos, isFirst: isFirst))
    }

    private func lines(_ photos: [PhotoRecord], isFirst: Bool) -> [String] {
        let width = console.outputWidth
        let rows = photos.map { photo in
            line(
                photo.id,
                String(photo.takenAt.text.prefix(19)).replacing("T", with: " "),
                Formats.bytes(photo.fileSize),
                PhotoOrigin(photo, device: device).words,
                TerminalText.escaped(photo.originalFilename),
                fitting: width
            )
        }
        let header = line("ID", "TAKEN (UTC)", "SIZE", "DEVICE", "NAME", fitting: width)
        return (isFirst ? [console.outputStyle.bold(header)] : []) + rows
    }

    private func line(
        _ id: String,
        _ taken: String,
        _ size: String,
        _ origin: String,
        _ name: String,
        fitting width: Int?
    ) -> String {
        let line = [
            left(TerminalText.escaped(id), 36), left(TerminalText.escaped(taken), 19), right(size, 8),
            left(TerminalText.truncated(TerminalText.escaped(origin), to: 16), 16), name,
        ].joined(separator: "  ")
        return width.map { TerminalText.truncated(line, to: max(1, $0)) } ?? line
    }

    private func left(_ text: String, _ width: Int) -> String { text + padding(text, width) }
    private func right(_ text: String, _ width: Int) -> String { padding(text, width) + text }

    private func padding(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - TerminalText.width(text)))
    }
}

/// Where a photo comes from, as seen from here.
struct PhotoOrigin: Sendable {
    /// `this`, `other` or `legacy`.
    var name: String
    /// For people. May hold control characters.
    var words: String

    init(_ photo: PhotoRecord, device: String?) {
        guard let origin = photo.originDevice else {
            (name, words) = ("legacy", "-")
            return
        }
        let isThis = origin.id == device
        name = isThis ? "this" : "other"
        words = isThis ? "this device" : origin.name
    }
}
