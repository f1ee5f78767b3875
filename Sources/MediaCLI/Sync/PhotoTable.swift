internal import Foundation
internal import MediaCore
internal import MediaStore
internal import Synchronization

/// A list of photos of any length, printed in blocks with columns of fixed width, so memory use is constant.
final class PhotoTable: Sendable {
    private let console: Console
    /// ID of this machine's device.
    private let device: String?
    private let isGone: Bool
    private let shown = Mutex(0)

    init(_ console: Console, device: String?, isGone: Bool = false) {
        self.console = console
        self.device = device
        self.isGone = isGone
    }

    var count: Int { shown.withLock { $0 } }

    func show(_ photos: [PhotoRecord]) {
        let isFirst = shown.withLock { shown in
            defer { shown += photos.count }
            return shown == 0
        }
        console.records(.item, photos.map { JSONRenderer.photo($0, device: device, isGone: isGone) })
        console.text(lines(photos, isFirst: isFirst))
    }

    private func lines(_ photos: [PhotoRecord], isFirst: Bool) -> [String] {
        let width = console.outputWidth
        let layout = Layout.fitting(width)
        let rows = photos.map { photo in
            line(
                photo.id,
                String(photo.takenAt.text.prefix(layout.time < 19 ? 10 : 19)).replacing("T", with: " "),
                Formats.bytes(photo.fileSize),
                PhotoOrigin(photo, device: device).words,
                TerminalText.escaped(photo.originalFilename),
                layout,
                fitting: width
            )
        }
        let header = line("ID", "TAKEN (UTC)", "SIZE", "DEVICE", "NAME", layout, fitting: width)
        return (isFirst ? [console.outputStyle.bold(header)] : []) + rows
    }

    /// The widths of the columns other than the name; 0 for an omitted column.
    private struct Layout {
        /// Length of a UUID.
        var id = 36
        var time = 19
        var size = 8
        var device = 16

        /// The widest layout that leaves space for a name.
        static func fitting(_ width: Int?) -> Layout {
            let all = [
                Layout(), Layout(time: 11), Layout(time: 11, device: 11), Layout(time: 11, size: 0, device: 11),
                Layout(time: 11, size: 0, device: 0), Layout(time: 0, size: 0, device: 0),
                // A name without an ID is more useful than an ID without a name; --json has the IDs.
                Layout(id: 0, time: 11, device: 0), Layout(id: 0, time: 11, size: 0, device: 0),
            ]
            guard let width else { return Layout() }
            return all.first { $0.width + 14 <= width } ?? Layout(id: 0, time: 0, size: 0, device: 0)
        }

        private var width: Int {
            [id, time, size, device].reduce(0) { $0 + ($1 > 0 ? $1 + 2 : 0) }
        }
    }

    private func line(
        _ id: String,
        _ taken: String,
        _ size: String,
        _ origin: String,
        _ name: String,
        _ layout: Layout,
        fitting width: Int?
    ) -> String {
        var cells: [String] = []
        if layout.id > 0 { cells.append(left(TerminalText.escaped(id), layout.id)) }
        if layout.time > 0 { cells.append(left(TerminalText.escaped(taken), layout.time)) }
        if layout.size > 0 { cells.append(right(size, layout.size)) }
        if layout.device > 0 {
            cells.append(left(truncated(TerminalText.escaped(origin), to: layout.device), layout.device))
        }
        let line = (cells + [name]).joined(separator: "  ")
        return width.map { truncated(line, to: max(1, $0)) } ?? line
    }

    private func truncated(_ text: String, to columns: Int) -> String {
        TerminalText.truncated(text, to: columns, ellipsis: console.outputStyle.ellipsis)
    }

    private func left(_ text: String, _ width: Int) -> String { text + padding(text, width) }
    private func right(_ text: String, _ width: Int) -> String { padding(text, width) + text }

    private func padding(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - TerminalText.width(text)))
    }
}

/// The origin of a photo, relative to this machine.
struct PhotoOrigin: Sendable {
    /// `this`, `other` or `legacy`.
    var name: String
    /// For text output. May contain control characters.
    var words: String

    init(_ photo: PhotoRecord, device: String?) {
        guard let origin = photo.originDevice else {
            (name, words) = ("legacy", "no device")
            return
        }
        let isThis = origin.id == device
        name = isThis ? "this" : "other"
        words = isThis ? "this device" : origin.name
    }
}

extension JSONRenderer {
    static func photo(_ photo: PhotoRecord, device: String?, isGone: Bool) -> JSONObject {
        [
            "photo_id": .string(photo.id), "file_name": .string(photo.originalFilename),
            "size_bytes": .integer(photo.fileSize), "checksum_sha256": .string(photo.sha256),
            "taken_at": .string(photo.takenAt.text), "uploaded_at": .string(photo.uploadedAt.text),
            "origin": .string(PhotoOrigin(photo, device: device).name),
            "device_id": JSONValue(photo.originDevice?.id), "device_name": JSONValue(photo.originDevice?.name),
            "device_platform": JSONValue(photo.originDevice?.platform), "width": JSONValue(photo.width),
            "height": JSONValue(photo.height), "gone": .bool(isGone),
        ]
    }
}
