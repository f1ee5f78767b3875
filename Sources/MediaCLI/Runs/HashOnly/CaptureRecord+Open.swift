internal import MediaStore

extension CaptureRecord {
    /// Whether `retry` may get it further. One without a mode waits for its owner's word.
    var isOpen: Bool {
        guard mode != nil else { return false }
        return switch state {
        case .pending, .queued, .submitted, .unknownOutcome: true
        case .accepted, .rejected: false
        }
    }
}
