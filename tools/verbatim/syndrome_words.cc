#include "tools/verbatim/syndrome_words.h"

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/aeth.h"
#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

std::string words_of_syndrome(std::uint8_t syndrome, std::uint32_t* flags) {
  switch (ib::ack_kind(syndrome)) {
    case ib::AckKind::kAck: {
      const auto credits = ib::credits_of(ib::ack_value(syndrome));
      return credits ? join("ACK, credits for ", *credits, *credits == 1 ? " receive" : " receives") : "ACK";
    }
    case ib::AckKind::kRnrNak:
      *flags |= RunPicture::kRnrNak;
      return join("RNR NAK: no receive is posted; try again after ", time_text(ib::rnr_timer(ib::ack_value(syndrome))));
    default:
      break;
  }
  *flags |= RunPicture::kNak;
  const auto code = ib::nak_code(syndrome);
  if (!code) return "NAK";
  switch (*code) {
    case ib::NakCode::kPsnSequenceError:
      return "NAK: PSN sequence error, this PSN is expected";
    case ib::NakCode::kInvalidRequest:
      return "NAK: invalid request";
    case ib::NakCode::kRemoteAccessError:
      return "NAK: remote access error";
    case ib::NakCode::kRemoteOperationalError:
      return "NAK: remote operational error";
    case ib::NakCode::kInvalidRdRequest:
      return "NAK: invalid RD request";
  }
  return "NAK";
}

}  // namespace verbatim::cli
