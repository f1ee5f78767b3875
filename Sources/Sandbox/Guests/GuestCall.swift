/// The pages and scripts for guests, which check the event link themselves (gighive contract 6).
enum GuestCall: Sendable {
    case token
    case status
    case gallery
    case stream
    case delete
    case report
    /// The upload form that the link opens in a browser.
    case form

    init?(path: String) {
        switch path {
        case "/api/upload-token.php": self = .token
        case "/api/guest-status.php": self = .status
        case "/api/guest-gallery.php": self = .gallery
        case "/api/guest-stream.php": self = .stream
        case "/api/guest-delete.php": self = .delete
        case "/api/guest-report.php": self = .report
        case "/db/upload_form_single.php": self = .form
        case _ where path.hasPrefix("/upload/"): self = .form
        default: return nil
        }
    }

    var place: Fault.Place? {
        switch self {
        case .token: .token
        case .status: .guestStatus
        case .delete: .guestDelete
        case .gallery, .stream, .report, .form: nil
        }
    }
}
