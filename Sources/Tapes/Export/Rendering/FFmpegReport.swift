internal import Synchronization

/// Reads what ffmpeg reports with `-progress`: lines of `key=value`.
final class FFmpegReport: Sendable {
    /// What matters of it.
    struct Figures: Equatable {
        /// Frames that were written.
        var frames = 0
        /// The time that was reached; nil is unknown.
        var microseconds: Int64?
    }

    private struct State {
        var rest: [UInt8] = []
        var figures = Figures()
    }

    private let state = Mutex(State())
    private let progress: @Sendable (Int) -> Void

    /// Tells `progress` each number of frames.
    init(_ progress: @escaping @Sendable (Int) -> Void) {
        self.progress = progress
    }

    /// The newest figures.
    var figures: Figures { state.withLock { $0.figures } }

    /// Takes a piece, which may end within a line.
    func read(_ piece: ArraySlice<UInt8>) {
        let frames = state.withLock { state -> Int? in
            state.rest += piece
            guard let end = state.rest.lastIndex(of: UInt8(ascii: "\n")) else { return nil }
            let lines = String(decoding: state.rest[..<end], as: UTF8.self)
            state.rest.removeSubrange(...end)
            let before = state.figures.frames
            for line in lines.split(separator: "\n") {
                let parts = line.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let number = Int64(parts[1]) else { continue }
                switch parts[0] {
                case "frame": state.figures.frames = Int(number)
                case "out_time_us": state.figures.microseconds = number
                default: break
                }
            }
            return state.figures.frames == before ? nil : state.figures.frames
        }
        if let frames { progress(frames) }
    }
}
